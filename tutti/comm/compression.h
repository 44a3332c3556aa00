// Compression of f32 values for transfers. A codec encodes values in fewer bytes and decodes them; collectives exchange
// the encoded form.
// - bf16, f16: 2 bytes per value, rounded to nearest even.
// - int8: blocks of 256 values share one f32 scale, the largest magnitude / 127. Each value is one byte, with an error
//   of at most half a scale. About 1.016 bytes per value.
// - topk: the given fraction of the values with the largest magnitudes, exactly, as index and value. 8 bytes per value
//   sent.
//
// Error feedback: the part of the values that a step does not send is stored in a residual and added to the values of
// the next step. Over all steps, the decoded values plus the last residual add up to the input, so the error stays
// bounded; without it, small gradients would never be sent. A residual belongs to one buffer on one rank.
//
// Non-finite values stay visible: a NaN or infinity is sent (an int8 block becomes NaN) and never enters the residual,
// which would keep it forever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tutti::comm {

enum class Compression : std::uint8_t { kNone, kBF16, kF16, kInt8, kTopK };

class Codec {
 public:
  static constexpr double kDefaultFraction = 0.01;

  // kNone sends f32 unchanged. `fraction` is used only for kTopK and must be in (0, 1]; otherwise throws ConfigError.
  explicit Codec(Compression kind = Compression::kNone, double fraction = kDefaultFraction);
  // "none", "bf16", "f16" or "fp16", "int8", "topk" or "topk:0.05". Throws ConfigError, which lists the valid values.
  static Codec parse(std::string_view text);
  // The form that `parse` reads. Equal on two ranks if and only if their codecs are equal.
  std::string text() const;
  Compression kind() const { return kind_; }

  // Depends only on the count, so every rank knows the size of the messages.
  std::size_t encoded_bytes(std::int64_t count) const;

  // Writes encoded_bytes(values.size()) bytes to `wire`, at any alignment. `residual` has the size of `values` and is
  // initially zero; if it is empty, the error is lost. At most 2^32 values for kTopK.
  void encode(std::span<const float> values, std::span<float> residual, std::byte* wire) const;

  // Decodes the output of `encode` for the same number of values: stores it in `values`, or adds it to them. Throws
  // CommError if the bytes are invalid.
  void decode(const std::byte* wire, std::span<float> values) const;
  void accumulate(const std::byte* wire, std::span<float> values) const;

 private:
  // values += sign * decoded values
  void add(const std::byte* wire, float sign, std::span<float> values) const;

  Compression kind_;
  double fraction_;
};

}  // namespace tutti::comm
