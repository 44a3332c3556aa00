// Instruction-set specific kernels used by kernels.cc and compression.cc. Counts must not be zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/comm/kernels/reduce_call.h"
#include "tutti/core/dtype.h"

namespace tutti::comm {

void reduce_vectors(DType dtype, ReduceOp op, const ReduceCall& call);
// `from` and `to` are different floating-point types.
void convert_vectors(DType from, const void* source, DType to, void* target, std::size_t count);
void copy_vectors(void* target, const void* source, std::size_t bytes);
// Uses non-temporal stores; ends with a fence.
void stream_vectors(void* target, const void* source, std::size_t bytes);
std::int64_t find_not_finite_in_vectors(DType dtype, const void* data, std::size_t count);
// values += factor * source; f32, f16, bf16 and i8.
void add_scaled_vectors(DType from, const void* source, float factor, std::size_t count,
                        float* values);
// bytes = values / scale, rounded. Returns the scale, which maps the largest magnitude to 127. Scale and bytes are 0 if
// all values are too small. `count` is a multiple of 64; the values are finite.
float quantise_vectors(const float* values, std::size_t count, std::int8_t* bytes);
const char* vector_target();

}  // namespace tutti::comm
