// Products of sparse rows, compiled once per instruction set.
#if defined(TUTTI_LEARN_SPARSE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_LEARN_SPARSE_ROWS_INL_H_
#undef TUTTI_LEARN_SPARSE_ROWS_INL_H_
#else
#define TUTTI_LEARN_SPARSE_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

#include "tutti/learn/base/internal/dense_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::learn::HWY_NAMESPACE {

// One row of SparseRows. `factor` is the value of implicit entries.
template <class T>
struct SparseRow {
  const T* values;
  const std::int32_t* indices;
  std::int64_t count;
  T factor;
};

template <class T>
HWY_INLINE SparseRow<T> row_of(const SparseRows<T>& rows, std::int64_t r) {
  const std::int64_t begin = rows.offsets[r], count = rows.offsets[r + 1] - begin;
  const bool has_length = rows.values == nullptr && rows.has_unit_norm && count > 0;
  return {rows.values == nullptr ? nullptr : rows.values + begin, rows.indices + begin, count,
          has_length ? static_cast<T>(1 / std::sqrt(static_cast<T>(count))) : T{1}};
}

// Returns the sum of values[i] * vector[indices[i]], or of vector[indices[i]] without values.
template <class T>
HWY_INLINE T gather_dot(const T* HWY_RESTRICT values, const std::int32_t* HWY_RESTRICT indices,
                        std::int64_t count, const T* HWY_RESTRICT vector) {
  const Tag<T> d;
  const hn::Rebind<std::int32_t, Tag<T>> d32;
  const hn::RebindToSigned<Tag<T>> di;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto widen = [&](auto v) {
    if constexpr (sizeof(T) == 4) {
      return v;
    } else {
      return hn::PromoteTo(di, v);
    }
  };
  auto sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto gathered = hn::GatherIndex(d, vector, widen(hn::LoadU(d32, indices + i)));
    sum = values != nullptr ? hn::MulAdd(gathered, hn::LoadU(d, values + i), sum)
                            : hn::Add(gathered, sum);
  }
  if (i < count) {  // lanes beyond the end gather element 0 and are masked out
    const std::size_t left = static_cast<std::size_t>(count - i);
    const auto mask = hn::FirstN(d, left);
    const auto index = widen(hn::MaskedLoad(hn::FirstN(d32, left), d32, indices + i));
    const auto gathered = hn::IfThenElseZero(mask, hn::GatherIndex(d, vector, index));
    sum = values != nullptr ? hn::MulAdd(gathered, hn::MaskedLoad(mask, d, values + i), sum)
                            : hn::Add(gathered, sum);
  }
  return sum_of<T>(sum);
}

template <class T>
HWY_INLINE T product_of(const SparseRow<T>& row, const T* vector) {
  return row.factor * gather_dot(row.values, row.indices, row.count, vector);
}

// target += factor * row
template <class T>
HWY_INLINE void add_row(const SparseRow<T>& row, T factor, T* HWY_RESTRICT target) {
  if (row.values == nullptr) {
    factor *= row.factor;
    for (std::int64_t i = 0; i < row.count; ++i) target[row.indices[i]] += factor;
  } else {
    for (std::int64_t i = 0; i < row.count; ++i) target[row.indices[i]] += factor * row.values[i];
  }
}

template <class T>
void multiply_sparse_any(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,
                         const T* vector, T constant, T* products) {
  for (std::int64_t r = begin; r < end; ++r)
    products[r] = product_of(row_of(rows, r), vector) + constant;
}

template <class T>
void add_sparse_any(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,
                    const T* factors, T* target) {
  for (std::int64_t r = begin; r < end; ++r) add_row(row_of(rows, r), factors[r], target);
}

template <class T>
void add_sparse_pairs_any(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,
                          const T* first, const T* second, T* HWY_RESTRICT target) {
  for (std::int64_t r = begin; r < end; ++r) {
    const SparseRow<T> row = row_of(rows, r);
    const T one = first[r], two = second[r];
    for (std::int64_t i = 0; i < row.count; ++i) {
      const T value = row.values == nullptr ? row.factor : row.values[i];
      T* HWY_RESTRICT pair = target + 2 * static_cast<std::int64_t>(row.indices[i]);
      pair[0] += one * value;
      pair[1] += two * value * value;
    }
  }
}

template <class T>
double add_sparse_curvature_any(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,
                                const T* vector, T constant, const T* curvature, T* products,
                                T* target) {
  double sum = 0;
  for (std::int64_t r = begin; r < end; ++r) {
    const SparseRow<T> row = row_of(rows, r);
    products[r] = product_of(row, vector) + constant;
    const T factor = curvature[r] * products[r];
    sum += static_cast<double>(factor);
    add_row(row, factor, target);
  }
  return sum;
}

#define TUTTI_BOTH_TYPES(T, suffix)                                                                \
  T sparse_dot_##suffix(const SparseRows<T>& rows, std::int64_t row, const T* vector) {            \
    return product_of(row_of(rows, row), vector);                                                  \
  }                                                                                                \
  void add_sparse_row_##suffix(const SparseRows<T>& rows, std::int64_t row, T factor, T* target) { \
    add_row(row_of(rows, row), factor, target);                                                    \
  }                                                                                                \
  void multiply_sparse_##suffix(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,   \
                                const T* vector, T constant, T* products) {                        \
    multiply_sparse_any(rows, begin, end, vector, constant, products);                             \
  }                                                                                                \
  void add_sparse_##suffix(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,        \
                           const T* factors, T* target) {                                          \
    add_sparse_any(rows, begin, end, factors, target);                                             \
  }                                                                                                \
  void add_sparse_pairs_##suffix(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,  \
                                 const T* first, const T* second, T* target) {                     \
    add_sparse_pairs_any(rows, begin, end, first, second, target);                                 \
  }                                                                                                \
  double add_sparse_curvature_##suffix(const SparseRows<T>& rows, std::int64_t begin,              \
                                       std::int64_t end, const T* vector, T constant,              \
                                       const T* curvature, T* products, T* target) {               \
    return add_sparse_curvature_any(rows, begin, end, vector, constant, curvature, products,       \
                                    target);                                                       \
  }

TUTTI_BOTH_TYPES(float, f32)
TUTTI_BOTH_TYPES(double, f64)
#undef TUTTI_BOTH_TYPES

}  // namespace tutti::learn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TUTTI_LEARN_SPARSE_ROWS_INL_H_
