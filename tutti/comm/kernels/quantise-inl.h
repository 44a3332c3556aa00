// Kernels of wire compression. Compiled once per instruction set (Highway's foreach_target).
#if defined(TUTTI_COMM_KERNELS_QUANTISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_COMM_KERNELS_QUANTISE_INL_H_
#undef TUTTI_COMM_KERNELS_QUANTISE_INL_H_
#else
#define TUTTI_COMM_KERNELS_QUANTISE_INL_H_
#endif

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "tutti/comm/kernels/vector_elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::comm::HWY_NAMESPACE {

template <class T>
HWY_INLINE hn::Vec<hn::ScalableTag<float>> load_widened(const T* from) {
  const hn::ScalableTag<float> d;
  if constexpr (std::is_same_v<T, std::int8_t>) {
    const hn::RebindToSigned<decltype(d)> di;
    return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(hn::Rebind<T, decltype(d)>(), from)));
  } else {
    return Elements<T>::load(d, from);
  }
}

template <class T>
void add_scaled_typed(const void* source, float factor, std::size_t count, float* values) {
  const hn::ScalableTag<float> d;
  const std::size_t step = hn::Lanes(d);
  const auto* from = static_cast<const T*>(source);
  const auto factors = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    const auto scaled = hn::Mul(load_widened(from + i), factors);
    hn::StoreU(hn::Add(hn::LoadU(d, values + i), scaled), d, values + i);
  }
  if (i == count) return;
  T few[hn::MaxLanes(d)] = {};
  float sums[hn::MaxLanes(d)] = {};
  std::memcpy(few, from + i, (count - i) * sizeof(T));
  std::memcpy(sums, values + i, (count - i) * sizeof(float));
  hn::StoreU(hn::Add(hn::LoadU(d, sums), hn::Mul(load_widened(few), factors)), d, sums);
  std::memcpy(values + i, sums, (count - i) * sizeof(float));
}

void add_scaled_any(DType from, const void* source, float factor, std::size_t count,
                    float* values) {
  switch (from) {
    case DType::kF32: return add_scaled_typed<float>(source, factor, count, values);
    case DType::kF16: return add_scaled_typed<Half>(source, factor, count, values);
    case DType::kBF16: return add_scaled_typed<BFloat16>(source, factor, count, values);
    default: return add_scaled_typed<std::int8_t>(source, factor, count, values);
  }
}

float quantise_any(const float* values, std::size_t count, std::int8_t* bytes) {
  constexpr float kSteps = 127;
  constexpr float kTooSmall = 0x1p-110f;  // below it kSteps / largest overflows
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::int8_t, decltype(d)> d8;
  auto magnitudes = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    magnitudes = hn::Max(magnitudes, hn::Abs(hn::LoadU(d, values + i)));
  }
  const float largest = hn::GetLane(hn::MaxOfLanes(d, magnitudes));
  if (largest < kTooSmall) {
    std::memset(bytes, 0, count);
    return 0;
  }
  const auto factor = hn::Set(d, kSteps / largest);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto steps = hn::NearestInt(hn::Mul(hn::LoadU(d, values + i), factor));
    hn::StoreU(hn::DemoteTo(d8, steps), d8, bytes + i);
  }
  return largest / kSteps;
}

}  // namespace tutti::comm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
