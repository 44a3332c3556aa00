// The arithmetic of reductions, vectorised for the machine it runs on (Highway, chosen at run
// time). Pure functions, any alignment, any count; no element is read after it was written by the
// same call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tutti/core/dtype.h"

namespace tutti::comm {

// Folds the sources element by element in the order given, ((s0 op s1) op s2) ..., and stores the
// result in every target. f16 and bf16 are folded in f32 and rounded once. kAverage divides the sum
// by `divisor`; integers are summed without overflow and the average is rounded towards zero. A
// target may be one of the sources (the same memory), otherwise nothing may overlap. At least one
// source and one target. One source: the copy (and division).
void reduce(DType dtype, ReduceOp op, std::span<const void* const> sources,
            std::span<void* const> targets, std::int64_t count, std::int64_t divisor = 1);

// memcpy that never takes the processor's string instruction, as libc's does for some KiB: on lines
// that another core has just read it is several times slower.
void copy_to_peers(void* target, const void* source, std::size_t bytes);

// memcpy that does not pull the target into the cache when `bytes` is large.
void stream_copy(void* target, const void* source, std::size_t bytes);

// Element-wise conversion between floating types (f32, f64, f16, bf16); rounds to nearest even.
// f64 reaches the 16-bit types by way of f32.
void convert(DType from, const void* source, DType to, void* target, std::int64_t count);

// Index of the first NaN or infinity, or -1; floating types only (others: -1).
std::int64_t find_not_finite(DType dtype, const void* data, std::int64_t count);

// Which instruction set the kernels use here, e.g. "AVX3".
const char* simd_target();

}  // namespace tutti::comm
