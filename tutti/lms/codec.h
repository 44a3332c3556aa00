// Lossless encodings that reduce the size of blocks on the lower tier (the swap file).
// - kZeroSuppressed: any data; effective for outputs of ReLU. 1 bit per 32-bit word, and the nonzero words.
// - kBits: data with two distinct 32-bit words or two distinct bytes, such as dropout masks and the results of
//   comparisons. 1 bit per word or byte.
// - kNarrowInt64: 64-bit integers with a range below 2^32, such as pooling indices. 1, 2 or 4 bytes per integer.
//
// Decoding restores every bit: words are compared as integers, so -0.0 and NaN payloads are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tutti/core/result.h"
#include "tutti/lms/trace.h"

namespace tutti::lms {

// Encodes `data` into `output` and returns the number of bytes written. Returns 0, with undefined content of `output`,
// if the codec is kNone or does not apply, or the result does not fit. Thread-safe.
std::int64_t encode(Codec codec, std::span<const std::byte> data, std::span<std::byte> output);

// Decodes into `data`, whose size must be that of the encoded data. Fails with DDL-5-64 if `stored` is not the complete
// result of encode(); `data` is then undefined. Thread-safe.
Result decode(Codec codec, std::span<const std::byte> stored, std::span<std::byte> data);

// Number of bytes that encode() would write; 0 if the codec does not apply.
std::int64_t encoded_size(Codec codec, std::span<const std::byte> data);

struct Encoding {
  Codec codec = Codec::kNone;
  std::int64_t bytes = 0;
};

// The codec with the smallest result; kNone if no codec saves at least a quarter. Reads the data up to three times.
Encoding choose_codec(std::span<const std::byte> data);

}  // namespace tutti::lms
