// Vectorized reduction, copy and conversion kernels; Highway selects the instruction set at run time. Pure functions,
// for any alignment and any count. No element is read after the same call has written it. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tutti/core/dtype.h"

namespace tutti::comm {

// Reduces the sources element by element in the given order, ((s0 op s1) op s2) ..., and stores the result in every
// target. f16 and bf16 are accumulated in f32 and rounded once. kAverage divides the sum by `divisor`; integer sums do
// not overflow and the average is rounded towards zero. A target may be identical to a source; otherwise no buffers may
// overlap. There must be at least one source and one target. With one source this is a copy (and division).
void reduce(DType dtype, ReduceOp op, std::span<const void* const> sources,
            std::span<void* const> targets, std::int64_t count, std::int64_t divisor = 1);

// memcpy without `rep movsb`, which libc uses above a few KiB: on cache lines that another core has just read it is
// several times slower.
void copy_to_peers(void* target, const void* source, std::size_t bytes);

// memcpy with non-temporal stores if `bytes` is large, so the target does not displace other data from the cache.
void stream_copy(void* target, const void* source, std::size_t bytes);

// Element-wise conversion between floating-point types (f32, f64, f16, bf16); rounds to nearest even. f64 is converted
// to the 16-bit types through f32.
void convert(DType from, const void* source, DType to, void* target, std::int64_t count);

// Index of the first NaN or infinity; -1 if there is none or the type is not a floating-point type.
std::int64_t find_not_finite(DType dtype, const void* data, std::int64_t count);

// Name of the selected instruction set, e.g. "AVX3".
const char* simd_target();

}  // namespace tutti::comm
