#include "tutti/fusion/internal/arithmetic.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

namespace tutti::fusion {
namespace {

float value_of(Half v) {
  return to_float(v);
}
float value_of(BFloat16 v) {
  return to_float(v);
}
template <class T>
T value_of(T v) {
  return v;
}

template <class T>
T from_value(double v) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_half(static_cast<float>(v));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(static_cast<float>(v));
  } else {
    return static_cast<T>(v);
  }
}

// Calls `body` with a null pointer to the element type.
template <class Body>
void with_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF32: return body(static_cast<float*>(nullptr));
    case DType::kF64: return body(static_cast<double*>(nullptr));
    case DType::kF16: return body(static_cast<Half*>(nullptr));
    case DType::kBF16: return body(static_cast<BFloat16*>(nullptr));
    case DType::kI8: return body(static_cast<std::int8_t*>(nullptr));
    case DType::kU8: return body(static_cast<std::uint8_t*>(nullptr));
    case DType::kI32: return body(static_cast<std::int32_t*>(nullptr));
    case DType::kI64: return body(static_cast<std::int64_t*>(nullptr));
  }
}

// Identity element of a minimum (largest) or maximum (smallest).
template <class T>
T extreme(bool largest) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    const float infinity = std::numeric_limits<float>::infinity();
    return from_value<T>(largest ? infinity : -infinity);
  } else if constexpr (std::is_floating_point_v<T>) {
    return largest ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
  } else {
    return largest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
  }
}

}  // namespace

void scale(ConstBuffer source, double factor, void* target) {
  with_type(source.dtype, [&]<class T>(T*) {
    const T* from = static_cast<const T*>(source.data);
    T* to = static_cast<T*>(target);
    if constexpr (std::is_same_v<T, float>) {
      const auto f = static_cast<float>(factor);
      for (std::int64_t i = 0; i < source.count; ++i) to[i] = from[i] * f;
    } else {
      for (std::int64_t i = 0; i < source.count; ++i)
        to[i] = from_value<T>(static_cast<double>(value_of(from[i])) * factor);
    }
  });
}

void fill_identity(Buffer buffer, ReduceOp op) {
  with_type(buffer.dtype, [&]<class T>(T*) {
    T value = from_value<T>(op == ReduceOp::kProduct ? 1 : 0);
    if (op == ReduceOp::kMin || op == ReduceOp::kMax) value = extreme<T>(op == ReduceOp::kMin);
    std::fill_n(static_cast<T*>(buffer.data), buffer.count, value);
  });
}

void adasum_pair(Buffer mine, const void* other, bool is_first) {
  with_type(mine.dtype, [&]<class T>(T*) {
    T* m = static_cast<T*>(mine.data);
    const T* o = static_cast<const T*>(other);
    double dot = 0, mm = 0, oo = 0;
    for (std::int64_t i = 0; i < mine.count; ++i) {
      const auto x = static_cast<double>(value_of(m[i])), y = static_cast<double>(value_of(o[i]));
      dot += x * y;
      mm += x * x;
      oo += y * y;
    }
    const double of_mine = mm > 0 ? 1 - dot / (2 * mm) : 1,
                 of_other = oo > 0 ? 1 - dot / (2 * oo) : 1;
    for (std::int64_t i = 0; i < mine.count; ++i) {
      double a = of_mine * static_cast<double>(value_of(m[i]));
      double b = of_other * static_cast<double>(value_of(o[i]));
      if (!is_first) std::swap(a, b);
      m[i] = from_value<T>(a + b);
    }
  });
}

}  // namespace tutti::fusion
