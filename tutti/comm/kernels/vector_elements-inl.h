// Conversion between stored elements and vectors for arithmetic. Compiled once per instruction set, so there is no
// ordinary include guard (Highway foreach_target).
#if defined(TUTTI_COMM_KERNELS_VECTOR_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_COMM_KERNELS_VECTOR_ELEMENTS_INL_H_
#undef TUTTI_COMM_KERNELS_VECTOR_ELEMENTS_INL_H_
#else
#define TUTTI_COMM_KERNELS_VECTOR_ELEMENTS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "tutti/core/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::comm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// f32, f64, i32, i64: used without conversion. `D` is the tag of the vectors for arithmetic. `load` reads one vector
// from any address; `pack` converts it back to the vector of `Stored` elements to write.
template <class T>
struct Elements {
  using D = hn::ScalableTag<T>;
  using Stored = T;
  template <class D_>
  static HWY_INLINE hn::Vec<D_> load(D_ d, const T* from) {
    return hn::LoadU(d, from);
  }
  template <class D_>
  static HWY_INLINE hn::Vec<D_> pack(D_, hn::Vec<D_> v) {
    return v;
  }
};

// 8-bit integers are computed in 16 bits. Packing keeps the lower 8 bits, which equals arithmetic modulo 256.
template <class T>
struct ByteElements {
  using D = hn::ScalableTag<std::int16_t>;
  using Stored = std::uint8_t;
  static HWY_INLINE hn::Vec<D> load(D d, const T* from) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), from));
  }
  static HWY_INLINE auto pack(D d, hn::Vec<D> v) {
    return hn::DemoteTo(hn::Rebind<Stored, D>(), hn::And(v, hn::Set(d, 0xff)));
  }
};
template <>
struct Elements<std::int8_t> : ByteElements<std::int8_t> {};
template <>
struct Elements<std::uint8_t> : ByteElements<std::uint8_t> {};

// bf16: the upper half of an f32. Rounding is bitwise identical to to_bfloat16.
template <>
struct Elements<BFloat16> {
  using D = hn::ScalableTag<float>;
  using Stored = std::uint16_t;
  template <class D_>
  static HWY_INLINE hn::Vec<D_> load(D_ d, const BFloat16* from) {
    const auto bits = hn::LoadU(hn::Rebind<std::uint16_t, D_>(), &from->bits);
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D_>(), bits)));
  }
  template <class D_>
  static HWY_INLINE auto pack(D_, hn::Vec<D_> v) {
    const hn::RebindToUnsigned<D_> du;
    const hn::RebindToSigned<D_> di;
    const auto bits = hn::BitCast(du, v);
    const auto upper = hn::ShiftRight<16>(bits);
    const auto bias = hn::Add(hn::Set(du, 0x7fff), hn::And(upper, hn::Set(du, 1)));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, bias));
    const auto nan = hn::Or(upper, hn::Set(du, 0x40));
    const auto result = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), nan, rounded);
    return hn::DemoteTo(hn::Rebind<Stored, D_>(), hn::BitCast(di, result));
  }
};

// f16. Rounding is bitwise identical to to_half: with the CPU's instruction if the target guarantees it, otherwise with
// the same steps.
template <>
struct Elements<Half> {
  using D = hn::ScalableTag<float>;
  using Stored = std::uint16_t;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  template <class D_>
  static HWY_INLINE hn::Vec<D_> load(D_ d, const Half* from) {
    const hn::Rebind<hwy::float16_t, D_> d16;
    return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(from)));
  }
  template <class D_>
  static HWY_INLINE auto pack(D_ d, hn::Vec<D_> v) {
    const hn::Rebind<hwy::float16_t, D_> d16;
    const hn::RebindToUnsigned<D_> du;
    // All NaNs become the same one, whatever their payload.
    const auto plain = hn::CopySign(hn::BitCast(d, hn::Set(du, 0x7fc00000)), v);
    const auto result = hn::IfThenElse(hn::IsNaN(v), plain, v);
    return hn::BitCast(hn::Rebind<Stored, D_>(), hn::DemoteTo(d16, result));
  }
#else
  template <class D_>
  static HWY_INLINE hn::Vec<D_> load(D_ d, const Half* from) {
    const hn::RebindToSigned<D_> di;
    const auto bits = hn::PromoteTo(di, hn::LoadU(hn::Rebind<std::uint16_t, D_>(), &from->bits));
    const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(di, 0x7fff)));
    const auto scaled = hn::BitCast(di, hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f)));
    const auto special = hn::Or(magnitude, hn::Set(di, 0x7f800000));
    const auto is_special = hn::Gt(magnitude, hn::Set(di, (0x7c00 << 13) - 1));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(di, 0x8000)));
    return hn::BitCast(d, hn::Or(sign, hn::IfThenElse(is_special, special, scaled)));
  }
  template <class D_>
  static HWY_INLINE auto pack(D_ d, hn::Vec<D_> v) {
    const hn::RebindToSigned<D_> di;
    const auto bits = hn::BitCast(di, v);
    const auto magnitude = hn::And(bits, hn::Set(di, 0x7fffffff));
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 0x8000));
    const auto shifted = hn::BitCast(di, hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f)));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(di, 1));
    const auto rounded = hn::Add(magnitude, hn::Add(odd, hn::Set(di, 0xfff)));
    auto result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x38800000)),
                                 hn::Sub(shifted, hn::Set(di, 0x3f000000)),
                                 hn::ShiftRight<13>(hn::Sub(rounded, hn::Set(di, 0x38000000))));
    result =
        hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x477fefff)), hn::Set(di, 0x7c00), result);
    result =
        hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7f800000)), hn::Set(di, 0x7e00), result);
    return hn::DemoteTo(hn::Rebind<Stored, D_>(), hn::Or(result, sign));
  }
#endif
};

// Packs and stores to any address.
template <class D, class T>
HWY_INLINE void store(D d, hn::Vec<D> v, T* to) {
  using Stored = typename Elements<T>::Stored;
  hn::StoreU(Elements<T>::pack(d, v), hn::Rebind<Stored, D>(), reinterpret_cast<Stored*>(to));
}

// The same with a non-temporal store: `to` is aligned to the vector size, and hwy::FlushStream must follow at the end.
template <class D, class T>
HWY_INLINE void stream(D d, hn::Vec<D> v, T* to) {
  using Stored = typename Elements<T>::Stored;
  hn::Stream(Elements<T>::pack(d, v), hn::Rebind<Stored, D>(), reinterpret_cast<Stored*>(to));
}

}  // namespace tutti::comm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
