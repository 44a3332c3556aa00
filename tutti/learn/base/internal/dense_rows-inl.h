// Products of dense rows, compiled once per instruction set.
#if defined(TUTTI_LEARN_DENSE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_LEARN_DENSE_ROWS_INL_H_
#undef TUTTI_LEARN_DENSE_ROWS_INL_H_
#else
#define TUTTI_LEARN_DENSE_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace tutti::learn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Tag<T>>;

template <class T>
HWY_INLINE Vector<T> load_part(const T* from, std::int64_t count) {
  const Tag<T> d;
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, from);
}
template <class T>
HWY_INLINE T sum_of(Vector<T> v) {
  return hn::GetLane(hn::SumOfLanes(Tag<T>(), v));
}

template <class T>
double dot_any(const T* a, const T* b, std::int64_t count) {
  const Tag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), sum1);
  }
  for (; i < count; i += lanes)
    sum0 = hn::MulAdd(load_part(a + i, count - i), load_part(b + i, count - i), sum0);
  return sum_of<T>(hn::Add(sum0, sum1));
}

template <class T>
void add_scaled_any(T factor, const T* HWY_RESTRICT source, std::int64_t count,
                    T* HWY_RESTRICT target) {
  const Tag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto f = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::MulAdd(f, hn::LoadU(d, source + i), hn::LoadU(d, target + i)), d, target + i);
  for (; i < count; ++i) target[i] += factor * source[i];
}

template <class T>
void add_to_double_any(const T* HWY_RESTRICT source, std::int64_t count,
                       double* HWY_RESTRICT target) {
  for (std::int64_t i = 0; i < count; ++i) target[i] += static_cast<double>(source[i]);
}

// Processes four rows at a time, so `vector` is loaded once for all of them.
template <class T>
void multiply_rows_any(const T* HWY_RESTRICT rows, std::int64_t stride, std::int64_t count,
                       std::int64_t columns, const T* HWY_RESTRICT vector, T constant,
                       T* HWY_RESTRICT products) {
  const Tag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t r = 0;
  for (; r + 4 <= count; r += 4) {
    const T* row = rows + r * stride;
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    std::int64_t j = 0;
    for (; j + lanes <= columns; j += lanes) {
      const auto v = hn::LoadU(d, vector + j);
      s0 = hn::MulAdd(v, hn::LoadU(d, row + j), s0);
      s1 = hn::MulAdd(v, hn::LoadU(d, row + stride + j), s1);
      s2 = hn::MulAdd(v, hn::LoadU(d, row + 2 * stride + j), s2);
      s3 = hn::MulAdd(v, hn::LoadU(d, row + 3 * stride + j), s3);
    }
    if (j < columns) {
      const auto v = load_part(vector + j, columns - j);
      s0 = hn::MulAdd(v, load_part(row + j, columns - j), s0);
      s1 = hn::MulAdd(v, load_part(row + stride + j, columns - j), s1);
      s2 = hn::MulAdd(v, load_part(row + 2 * stride + j, columns - j), s2);
      s3 = hn::MulAdd(v, load_part(row + 3 * stride + j, columns - j), s3);
    }
    products[r] = sum_of<T>(s0) + constant;
    products[r + 1] = sum_of<T>(s1) + constant;
    products[r + 2] = sum_of<T>(s2) + constant;
    products[r + 3] = sum_of<T>(s3) + constant;
  }
  for (; r < count; ++r)
    products[r] = static_cast<T>(dot_any(rows + r * stride, vector, columns)) + constant;
}

// Adds factors[r] * row, or with kPower 2 factors[r] * row^2, four rows at a time.
template <int kPower, class T>
HWY_INLINE void add_powers(const T* HWY_RESTRICT rows, std::int64_t stride, std::int64_t count,
                           std::int64_t columns, const T* HWY_RESTRICT factors,
                           T* HWY_RESTRICT target) {
  const Tag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // Multiplier of a value: the factor, or factor * value for squares.
  const auto by = [](Vector<T> factor, Vector<T> value) {
    if constexpr (kPower == 2) return hn::Mul(factor, value);
    return factor;
  };
  const auto term = [](T factor, T value) {
    return kPower == 2 ? factor * value * value : factor * value;
  };
  std::int64_t r = 0;
  for (; r + 4 <= count; r += 4) {
    const T* row = rows + r * stride;
    const auto f0 = hn::Set(d, factors[r]), f1 = hn::Set(d, factors[r + 1]);
    const auto f2 = hn::Set(d, factors[r + 2]), f3 = hn::Set(d, factors[r + 3]);
    std::int64_t j = 0;
    for (; j + lanes <= columns; j += lanes) {
      const auto x0 = hn::LoadU(d, row + j), x1 = hn::LoadU(d, row + stride + j);
      const auto x2 = hn::LoadU(d, row + 2 * stride + j), x3 = hn::LoadU(d, row + 3 * stride + j);
      auto sum = hn::MulAdd(by(f0, x0), x0, hn::LoadU(d, target + j));
      auto other = hn::Mul(by(f1, x1), x1);
      sum = hn::MulAdd(by(f2, x2), x2, sum);
      other = hn::MulAdd(by(f3, x3), x3, other);
      hn::StoreU(hn::Add(sum, other), d, target + j);
    }
    for (; j < columns; ++j)
      target[j] +=
          (term(factors[r], row[j]) + term(factors[r + 2], row[2 * stride + j])) +
          (term(factors[r + 1], row[stride + j]) + term(factors[r + 3], row[3 * stride + j]));
  }
  for (; r < count; ++r) {
    const T* row = rows + r * stride;
    if constexpr (kPower == 1) {
      add_scaled_any(factors[r], row, columns, target);
    } else {
      for (std::int64_t j = 0; j < columns; ++j) target[j] += term(factors[r], row[j]);
    }
  }
}

template <class T>
void fill_rows_any(const T* HWY_RESTRICT rows, std::int64_t stride, std::int64_t count,
                   std::int64_t columns, const T* HWY_RESTRICT shift, std::int64_t width,
                   T* HWY_RESTRICT target) {
  const Tag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t whole = columns / lanes * lanes;
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(columns - whole));
  const auto zero = hn::Zero(d);
  for (std::int64_t r = 0; r < count; ++r, rows += stride, target += width) {
    for (std::int64_t j = 0; j < whole; j += lanes) {
      const auto less = shift == nullptr ? zero : hn::LoadU(d, shift + j);
      hn::StoreU(hn::Sub(hn::LoadU(d, rows + j), less), d, target + j);
    }
    std::int64_t j = whole;
    if (j < columns) {
      const auto less = shift == nullptr ? zero : hn::MaskedLoad(mask, d, shift + j);
      hn::StoreU(hn::Sub(hn::MaskedLoad(mask, d, rows + j), less), d, target + j);
      j += lanes;
    }
    for (; j < width; j += lanes) hn::StoreU(zero, d, target + j);
    if (columns < width) target[columns] = 1;
  }
}

// Number of values of a row that are contiguous in a panel: one cache line.
template <class T>
inline constexpr std::int64_t kPanel = 64 / static_cast<std::int64_t>(sizeof(T));

template <class T>
void pack_rows_any(const T* HWY_RESTRICT rows, std::int64_t stride, std::int64_t count,
                   std::int64_t columns, const T* HWY_RESTRICT factors, std::int64_t width,
                   T* HWY_RESTRICT packed) {
  const Tag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t whole = columns / lanes * lanes, panel = count * kPanel<T>;
  HWY_ALIGN T roots[hn::MaxLanes(Tag<T>())];
  for (std::int64_t r = 0; r < count; ++r, rows += stride) {
    if (r % lanes == 0)
      hn::Store(hn::Sqrt(load_part(factors + r, count - r < lanes ? count - r : lanes)), d, roots);
    const T root = roots[r % lanes];
    const auto factor = hn::Set(d, root);
    const auto at = [&](std::int64_t j) {
      return packed + j / kPanel<T> * panel + r * kPanel<T> + j % kPanel<T>;
    };
    std::int64_t j = 0;
    for (; j < whole; j += lanes) hn::StoreU(hn::Mul(factor, hn::LoadU(d, rows + j)), d, at(j));
    if (j < columns) {
      hn::StoreU(hn::Mul(factor, load_part(rows + j, columns - j)), d, at(j));
      j += lanes;
    }
    for (; j < width; j += lanes) hn::StoreU(hn::Zero(d), d, at(j));
    if (columns < width) *at(columns) = root;
  }
}

// kHigh x 2 vectors of the Gram matrix stay in registers over all rows.
template <int kHigh, class T>
HWY_INLINE void add_gram_block(const T* HWY_RESTRICT packed, std::int64_t count,
                               std::int64_t columns, std::int64_t first, std::int64_t across,
                               double* HWY_RESTRICT gram) {
  const Tag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d)), panel = count * kPanel<T>;
  const auto at = [&](std::int64_t j) { return packed + j / kPanel<T> * panel + j % kPanel<T>; };
  const T* HWY_RESTRICT high[kHigh];
  for (int k = 0; k < kHigh; ++k) high[k] = at(first + k);
  const T* HWY_RESTRICT near = at(across);
  const T* HWY_RESTRICT far = at(across + lanes);
  Vector<T> left[kHigh], right[kHigh];
  for (int k = 0; k < kHigh; ++k) left[k] = right[k] = hn::Zero(d);
  for (std::int64_t i = 0; i < panel; i += kPanel<T>) {
    const auto a = hn::LoadU(d, near + i), b = hn::LoadU(d, far + i);
    for (int k = 0; k < kHigh; ++k) {
      const auto value = hn::Set(d, high[k][i]);
      left[k] = hn::MulAdd(value, a, left[k]);
      right[k] = hn::MulAdd(value, b, right[k]);
    }
  }
  HWY_ALIGN T sums[2 * hn::MaxLanes(Tag<T>())];
  for (int k = 0; k < kHigh; ++k) {
    hn::Store(left[k], d, sums);
    hn::Store(right[k], d, sums + lanes);
    add_to_double_any(sums, 2 * lanes, gram + (first + k) * columns + across);
  }
}

// The panel of columns stays in the L1 cache for all rows of the Gram matrix.
template <class T>
void add_gram_any(const T* packed, std::int64_t count, std::int64_t columns, std::int64_t begin,
                  std::int64_t end, double* gram) {
  constexpr int kHigh = HWY_MAX_BYTES >= 64 ? 8 : 6;
  const std::int64_t wide = 2 * static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
  for (std::int64_t across = begin / wide * wide; across < columns; across += wide) {
    const std::int64_t last = end < across + wide ? end : across + wide;
    std::int64_t first = begin;
    for (; first + kHigh <= end && first < last; first += kHigh)
      add_gram_block<kHigh>(packed, count, columns, first, across, gram);
    for (; first < last; first += 2) add_gram_block<2>(packed, count, columns, first, across, gram);
  }
}

#define TUTTI_BOTH_TYPES(T, suffix)                                                                \
  double dot_##suffix(const T* a, const T* b, std::int64_t count) {                                \
    return dot_any(a, b, count);                                                                   \
  }                                                                                                \
  void add_scaled_##suffix(T factor, const T* source, std::int64_t count, T* target) {             \
    add_scaled_any(factor, source, count, target);                                                 \
  }                                                                                                \
  void add_to_double_##suffix(const T* source, std::int64_t count, double* target) {               \
    add_to_double_any(source, count, target);                                                      \
  }                                                                                                \
  void multiply_rows_##suffix(const T* rows, std::int64_t stride, std::int64_t count,              \
                              std::int64_t columns, const T* vector, T constant, T* products) {    \
    multiply_rows_any(rows, stride, count, columns, vector, constant, products);                   \
  }                                                                                                \
  void add_rows_##suffix(const T* rows, std::int64_t stride, std::int64_t count,                   \
                         std::int64_t columns, const T* factors, T* target) {                      \
    add_powers<1>(rows, stride, count, columns, factors, target);                                  \
  }                                                                                                \
  void add_squares_##suffix(const T* rows, std::int64_t stride, std::int64_t count,                \
                            std::int64_t columns, const T* factors, T* target) {                   \
    add_powers<2>(rows, stride, count, columns, factors, target);                                  \
  }                                                                                                \
  void fill_rows_##suffix(const T* rows, std::int64_t stride, std::int64_t count,                  \
                          std::int64_t columns, const T* shift, std::int64_t width, T* target) {   \
    fill_rows_any(rows, stride, count, columns, shift, width, target);                             \
  }                                                                                                \
  void pack_rows_##suffix(const T* rows, std::int64_t stride, std::int64_t count,                  \
                          std::int64_t columns, const T* factors, std::int64_t width, T* packed) { \
    pack_rows_any(rows, stride, count, columns, factors, width, packed);                           \
  }                                                                                                \
  void add_gram_##suffix(const T* packed, std::int64_t count, std::int64_t columns,                \
                         std::int64_t begin, std::int64_t end, double* gram) {                     \
    add_gram_any(packed, count, columns, begin, end, gram);                                        \
  }

TUTTI_BOTH_TYPES(float, f32)
TUTTI_BOTH_TYPES(double, f64)
#undef TUTTI_BOTH_TYPES

}  // namespace tutti::learn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TUTTI_LEARN_DENSE_ROWS_INL_H_
