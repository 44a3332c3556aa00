// Reduction of several vectors in one pass over memory: each source is read once, each target written once. Compiled
// once per instruction set (Highway foreach_target).
//
// Four vectors are in flight at a time, so the loads of the next do not wait for the sums of the previous ones. A
// remainder shorter than a vector is covered by a vector that ends at the last element and overlaps its predecessor. It
// is reduced before anything is written, so an in-place reduction does not read an element twice.
#if defined(TUTTI_COMM_KERNELS_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_COMM_KERNELS_REDUCE_INL_H_
#undef TUTTI_COMM_KERNELS_REDUCE_INL_H_
#else
#define TUTTI_COMM_KERNELS_REDUCE_INL_H_
#endif

#include <hwy/cache_control.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "tutti/comm/kernels/reduce_call.h"
#include "tutti/comm/kernels/vector_elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::comm::HWY_NAMESPACE {

struct Sum {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Add(a, b);
  }
};
struct Product {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Mul(a, b);
  }
};
// NaN on either side propagates; the min/max instructions of CPUs differ in their treatment of NaN.
template <class D, class V>
HWY_INLINE V unless_nan(D, V a, V b, V otherwise) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, otherwise));
  } else {
    return otherwise;
  }
}
struct Minimum {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return unless_nan(d, a, b, hn::Min(a, b));
  }
};
struct Maximum {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return unless_nan(d, a, b, hn::Max(a, b));
  }
};

// Division of sums for averages of floating-point types. Multiplies by the reciprocal if that is exact. Integers are
// divided in kernels.cc.
template <class T>
class Divider {
  using D = typename Elements<T>::D;
  using Lane = hn::TFromD<D>;

 public:
  explicit Divider(std::int64_t divisor)
      : divisor_(divisor),
        is_power_of_two_(std::has_single_bit(static_cast<std::uint64_t>(divisor))) {}

  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v) const {
    if (divisor_ == 1) return v;
    if constexpr (hwy::IsFloat<Lane>()) {
      const auto divisor = static_cast<Lane>(divisor_);
      return is_power_of_two_ ? hn::Mul(v, hn::Set(d, 1 / divisor))
                              : hn::Div(v, hn::Set(d, divisor));
    } else {
      return v;
    }
  }

 private:
  std::int64_t divisor_;
  bool is_power_of_two_;
};

// `kRanks`: number of sources and targets if known at compile time, otherwise 0. `kIsLarge`: the data exceeds the
// caches. Sources are then prefetched, also across page boundaries, and targets that are not sources are written with
// non-temporal stores.
template <class T, class Op, std::size_t kRanks = 0, bool kIsLarge = false>
class Reducer {
  using E = Elements<T>;
  using D = typename E::D;
  using V = hn::Vec<D>;

 public:
  static HWY_NOINLINE void run(const ReduceCall& call) { Reducer(call).run(); }

 private:
  // Copies the fields of the call, so the compiler knows that stores to targets do not change them.
  HWY_INLINE explicit Reducer(const ReduceCall& call) : call_(call), divide_(call.divisor) {
    for (std::size_t i = 0; i < kRanks; ++i) {
      sources_[i] = static_cast<const T*>(call.sources[i]);
      targets_[i] = static_cast<T*>(call.targets[i]);
    }
  }

  HWY_INLINE void run() const {
    const D d;
    const std::size_t step = hn::Lanes(d);
    const std::size_t count = call_.count;
    if (count < step) return run_few();
    const bool has_rest = count % step != 0;
    const V last = has_rest ? reduce_at(count - step) : hn::Zero(d);
    std::size_t i = 0;
    for (; i + 4 * step <= count; i += 4 * step) reduce_four(i, step);
    for (; i + step <= count; i += step) store_at(reduce_at(i), i);
    if (has_rest) store_at(last, count - step);
    if (kIsLarge && call_.streams) hwy::FlushStream();
  }

  HWY_INLINE std::size_t source_count() const { return kRanks ? kRanks : call_.sources.size(); }
  HWY_INLINE std::size_t target_count() const { return kRanks ? kRanks : call_.targets.size(); }
  HWY_INLINE const T* source(std::size_t s) const {
    return kRanks ? sources_[s] : static_cast<const T*>(call_.sources[s]);
  }
  HWY_INLINE T* target(std::size_t t) const {
    return kRanks ? targets_[t] : static_cast<T*>(call_.targets[t]);
  }

  HWY_INLINE V reduce_at(std::size_t i) const {
    const D d;
    V v = E::load(d, source(0) + i);
    for (std::size_t s = 1; s < source_count(); ++s) v = Op::apply(d, v, E::load(d, source(s) + i));
    return divide_(d, v);
  }

  HWY_INLINE void store_at(V v, std::size_t i) const {
    for (std::size_t t = 0; t < target_count(); ++t) store(D(), v, target(t) + i);
  }

  HWY_INLINE void fetch_ahead(const T* from, std::size_t step) const {
    constexpr std::size_t kAheadBytes = 2048, kLineBytes = 64;
    const auto* bytes = reinterpret_cast<const std::byte*>(from) + kAheadBytes;
    for (std::size_t i = 0; i < 4 * step * sizeof(T); i += kLineBytes) hwy::Prefetch(bytes + i);
  }

  HWY_INLINE void reduce_four(std::size_t i, std::size_t step) const {
    const D d;
    const T* from = source(0) + i;
    if (kIsLarge) fetch_ahead(from, step);
    V v0 = E::load(d, from);
    V v1 = E::load(d, from + step);
    V v2 = E::load(d, from + 2 * step);
    V v3 = E::load(d, from + 3 * step);
    for (std::size_t s = 1; s < source_count(); ++s) {
      from = source(s) + i;
      if (kIsLarge) fetch_ahead(from, step);
      v0 = Op::apply(d, v0, E::load(d, from));
      v1 = Op::apply(d, v1, E::load(d, from + step));
      v2 = Op::apply(d, v2, E::load(d, from + 2 * step));
      v3 = Op::apply(d, v3, E::load(d, from + 3 * step));
    }
    v0 = divide_(d, v0);
    v1 = divide_(d, v1);
    v2 = divide_(d, v2);
    v3 = divide_(d, v3);
    for (std::size_t t = 0; t < target_count(); ++t) {
      T* to = target(t) + i;
      if (kIsLarge && call_.streams) {
        stream(d, v0, to);
        stream(d, v1, to + step);
        stream(d, v2, to + 2 * step);
        stream(d, v3, to + 3 * step);
      } else {
        store(d, v0, to);
        store(d, v1, to + step);
        store(d, v2, to + 2 * step);
        store(d, v3, to + 3 * step);
      }
    }
  }

  // Fewer elements than one vector: uses a vector-sized buffer on the stack.
  HWY_INLINE void run_few() const {
    const D d;
    HWY_ALIGN T few[hn::MaxLanes(D())] = {};
    const std::size_t bytes = call_.count * sizeof(T);
    std::memcpy(few, source(0), bytes);
    V v = E::load(d, few);
    for (std::size_t s = 1; s < source_count(); ++s) {
      std::memcpy(few, source(s), bytes);
      v = Op::apply(d, v, E::load(d, few));
    }
    store(d, divide_(d, v), few);
    for (std::size_t t = 0; t < target_count(); ++t) std::memcpy(target(t), few, bytes);
  }

  const ReduceCall& call_;
  const T* sources_[kRanks + 1];
  T* targets_[kRanks + 1];
  Divider<T> divide_;
};

template <class T>
void reduce_typed(ReduceOp op, const ReduceCall& call) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:  // the usual case in training: worth two more kernels
      if (call.is_large) return Reducer<T, Sum, 0, true>::run(call);
      if (call.sources.size() == 2 && call.targets.size() == 2)
        return Reducer<T, Sum, 2>::run(call);
      return Reducer<T, Sum>::run(call);
    case ReduceOp::kMin: return Reducer<T, Minimum>::run(call);
    case ReduceOp::kMax: return Reducer<T, Maximum>::run(call);
    case ReduceOp::kProduct: return Reducer<T, Product>::run(call);
  }
}

}  // namespace tutti::comm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
