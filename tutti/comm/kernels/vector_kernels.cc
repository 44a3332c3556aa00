#include "tutti/comm/kernels/vector_kernels.h"

// Compiles AVX2, AVX-512 and the baseline; older instruction sets use the baseline. Sizeless vectors (SVE, RVV) cannot
// be members of the accumulator structs.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/comm/kernels/vector_kernels.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

#include "tutti/comm/kernels/convert-inl.h"
#include "tutti/comm/kernels/quantise-inl.h"
#include "tutti/comm/kernels/reduce-inl.h"
#include "tutti/core/cpu_isa.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::comm::HWY_NAMESPACE {

void reduce_any(DType dtype, ReduceOp op, const ReduceCall& call) {
  switch (dtype) {
    case DType::kF32: return reduce_typed<float>(op, call);
    case DType::kF64: return reduce_typed<double>(op, call);
    case DType::kF16: return reduce_typed<Half>(op, call);
    case DType::kBF16: return reduce_typed<BFloat16>(op, call);
    case DType::kI8: return reduce_typed<std::int8_t>(op, call);
    case DType::kU8: return reduce_typed<std::uint8_t>(op, call);
    case DType::kI32: return reduce_typed<std::int32_t>(op, call);
    case DType::kI64: return reduce_typed<std::int64_t>(op, call);
  }
}

void convert_any(DType from, const void* source, DType to, void* target, std::size_t count) {
  switch (from) {
    case DType::kF32: return convert_from<float>(source, to, target, count);
    case DType::kF64: return convert_from<double>(source, to, target, count);
    case DType::kF16: return convert_from<Half>(source, to, target, count);
    default: return convert_from<BFloat16>(source, to, target, count);
  }
}

std::int64_t find_not_finite_any(DType dtype, const void* data, std::size_t count) {
  switch (dtype) {
    case DType::kF32: return find_not_finite_typed<std::uint32_t, 0x7f800000>(data, count);
    case DType::kF64: return find_not_finite_typed<std::uint64_t, 0x7ff0000000000000>(data, count);
    case DType::kF16: return find_not_finite_typed<std::uint16_t, 0x7c00>(data, count);
    case DType::kBF16: return find_not_finite_typed<std::uint16_t, 0x7f80>(data, count);
    default: return -1;
  }
}

const char* target_name() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace tutti::comm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::comm {

[[maybe_unused]] const bool kTargetsAreLimited = limit_vector_targets();

HWY_EXPORT(reduce_any);
HWY_EXPORT(convert_any);
HWY_EXPORT(copy_any);
HWY_EXPORT(stream_any);
HWY_EXPORT(find_not_finite_any);
HWY_EXPORT(add_scaled_any);
HWY_EXPORT(quantise_any);
HWY_EXPORT(target_name);

void reduce_vectors(DType dtype, ReduceOp op, const ReduceCall& call) {
  HWY_DYNAMIC_DISPATCH(reduce_any)(dtype, op, call);
}
void convert_vectors(DType from, const void* source, DType to, void* target, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(convert_any)(from, source, to, target, count);
}
void copy_vectors(void* target, const void* source, std::size_t bytes) {
  HWY_DYNAMIC_DISPATCH(copy_any)(target, source, bytes);
}
void stream_vectors(void* target, const void* source, std::size_t bytes) {
  HWY_DYNAMIC_DISPATCH(stream_any)(target, source, bytes);
}
std::int64_t find_not_finite_in_vectors(DType dtype, const void* data, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(find_not_finite_any)(dtype, data, count);
}
void add_scaled_vectors(DType from, const void* source, float factor, std::size_t count,
                        float* values) {
  HWY_DYNAMIC_DISPATCH(add_scaled_any)(from, source, factor, count, values);
}
float quantise_vectors(const float* values, std::size_t count, std::int8_t* bytes) {
  return HWY_DYNAMIC_DISPATCH(quantise_any)(values, count, bytes);
}
const char* vector_target() {
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

}  // namespace tutti::comm
#endif
