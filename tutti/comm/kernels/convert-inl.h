// Conversion, copy and search kernels. Compiled once per instruction set (Highway foreach_target).
#if defined(TUTTI_COMM_KERNELS_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_COMM_KERNELS_CONVERT_INL_H_
#undef TUTTI_COMM_KERNELS_CONVERT_INL_H_
#else
#define TUTTI_COMM_KERNELS_CONVERT_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "tutti/comm/kernels/vector_elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::comm::HWY_NAMESPACE {

// `D` is a tag of f32 vectors; f64 is also read and written through them.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_floats(D d, const T* from) {
  if constexpr (std::is_same_v<T, double>) {
#if HWY_TARGET == HWY_SCALAR  // its DemoteTo turns infinity into the largest number
    return hn::Set(d, static_cast<float>(*from));
#else
    return hn::DemoteTo(d, hn::LoadU(hn::Rebind<double, D>(), from));
#endif
  } else {
    return Elements<T>::load(d, from);
  }
}
template <class D, class T>
HWY_INLINE void store_floats(D d, hn::Vec<D> v, T* to) {
  if constexpr (std::is_same_v<T, double>) {
    const hn::Rebind<double, D> d64;
    hn::StoreU(hn::PromoteTo(d64, v), d64, to);
  } else {
    store(d, v, to);
  }
}

template <class From, class To>
void convert_typed(const From* source, To* target, std::size_t count) {
  constexpr bool kHasDouble = std::is_same_v<From, double> || std::is_same_v<To, double>;
  using D = std::conditional_t<kHasDouble, hn::Rebind<float, hn::ScalableTag<double>>,
                               hn::ScalableTag<float>>;
  const D d;
  const std::size_t step = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + step <= count; i += step) store_floats(d, load_floats(d, source + i), target + i);
  if (i == count) return;
  From few[hn::MaxLanes(D())] = {};
  To converted[hn::MaxLanes(D())];
  std::memcpy(few, source + i, (count - i) * sizeof(From));
  store_floats(d, load_floats(d, few), converted);
  std::memcpy(target + i, converted, (count - i) * sizeof(To));
}

template <class From>
void convert_from(const void* source, DType to, void* target, std::size_t count) {
  const auto* from = static_cast<const From*>(source);
  switch (to) {
    case DType::kF32: return convert_typed(from, static_cast<float*>(target), count);
    case DType::kF64: return convert_typed(from, static_cast<double*>(target), count);
    case DType::kF16: return convert_typed(from, static_cast<Half*>(target), count);
    default: return convert_typed(from, static_cast<BFloat16*>(target), count);
  }
}

// Copies bytes `i` to `bytes` with store(vector, target). Several vectors per iteration; otherwise the compiler
// replaces the loop by memcpy.
template <class D, class Store>
HWY_INLINE void copy_vectors_by(D d, std::uint8_t* to, const std::uint8_t* from, std::size_t i,
                                std::size_t bytes, const Store& store) {
  const std::size_t step = hn::Lanes(d);
  for (; i + 4 * step <= bytes; i += 4 * step) {
    const auto v0 = hn::LoadU(d, from + i);
    const auto v1 = hn::LoadU(d, from + i + step);
    const auto v2 = hn::LoadU(d, from + i + 2 * step);
    const auto v3 = hn::LoadU(d, from + i + 3 * step);
    store(v0, to + i);
    store(v1, to + i + step);
    store(v2, to + i + 2 * step);
    store(v3, to + i + 3 * step);
  }
  std::memcpy(to + i, from + i, bytes - i);
}

void copy_any(void* target, const void* source, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  copy_vectors_by(d, static_cast<std::uint8_t*>(target), static_cast<const std::uint8_t*>(source),
                  0, bytes,
                  [&](auto vector, std::uint8_t* to) HWY_ATTR { hn::StoreU(vector, d, to); });
}

// Non-temporal stores need an aligned target, and a fence at the end: otherwise peers could see a flag before the data.
void stream_any(void* target, const void* source, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  auto* to = static_cast<std::uint8_t*>(target);
  const auto* from = static_cast<const std::uint8_t*>(source);
  const std::size_t head = std::min(bytes, -reinterpret_cast<std::uintptr_t>(to) % 64);
  std::memcpy(to, from, head);
  copy_vectors_by(d, to, from, head, bytes,
                  [&](auto vector, std::uint8_t* at) HWY_ATTR { hn::Stream(vector, d, at); });
  hwy::FlushStream();
}

// NaN and infinity have all exponent bits set.
template <class Bits, Bits kExponent>
std::int64_t find_not_finite_typed(const void* data, std::size_t count) {
  const hn::ScalableTag<Bits> d;
  const std::size_t step = hn::Lanes(d);
  const auto* bits = static_cast<const Bits*>(data);
  const auto exponent = hn::Set(d, kExponent);
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    const auto is_found = hn::Eq(hn::And(hn::LoadU(d, bits + i), exponent), exponent);
    const auto lane = hn::FindFirstTrue(d, is_found);
    if (lane >= 0) return static_cast<std::int64_t>(i) + lane;
  }
  for (; i < count; ++i) {
    if ((bits[i] & kExponent) == kExponent) return static_cast<std::int64_t>(i);
  }
  return -1;
}

}  // namespace tutti::comm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
