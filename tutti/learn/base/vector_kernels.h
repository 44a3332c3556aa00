// Vector kernels: the inner loops of a fit, for the instruction set of the CPU. T is float or double. Pointers need no
// alignment, and counts may be 0.
#pragma once

#include <cstdint>

namespace tutti::learn {

// Padded rows have a multiple of this number of values.
inline constexpr std::int64_t kPadding = 32;

template <class T>
double dot(const T* a, const T* b, std::int64_t count);
// target += factor * source
template <class T>
void add_scaled(T factor, const T* source, std::int64_t count, T* target);
// target += source, in f64.
template <class T>
void add_to_double(const T* source, std::int64_t count, double* target);

// Products of dense rows: products[r] = rows[r * stride ...] . vector + constant.
template <class T>
void multiply_rows(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t columns,
                   const T* vector, T constant, T* products);
// target += sum over r of factors[r] * row r
template <class T>
void add_rows(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t columns,
              const T* factors, T* target);
// target += sum over r of factors[r] * the squares of row r
template <class T>
void add_squares(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t columns,
                 const T* factors, T* target);

// Copies rows of `columns` values to rows of `width` values, a multiple of kPadding. Subtracts `shift` (null: nothing),
// then appends 1 if there is room, then zeros.
template <class T>
void fill_rows(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t columns,
               const T* shift, std::int64_t width, T* target);
// Multiplies row r by sqrt(factors[r]) and stores it in panels for `add_gram`: one cache line of every row, then the
// next one of every row. After `columns` values follow 1 (times the root) if there is room, and zeros up to `width`, a
// multiple of kPadding.
template <class T>
void pack_rows(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t columns,
               const T* factors, std::int64_t width, T* packed);

// Adds the outer products of `count` rows, packed by pack_rows with width `columns`, to `gram` (columns x columns).
// Writes the upper triangle and the rest of the diagonal blocks, and only rows [begin, end), multiples of kPadding.
template <class T>
void add_gram(const T* packed, std::int64_t count, std::int64_t columns, std::int64_t begin,
              std::int64_t end, double* gram);

// View of sparse rows. Without `values` every entry is 1, or 1 / sqrt(entries of the row) if `has_unit_norm`.
template <class T>
struct SparseRows {
  const std::int64_t* offsets;
  const std::int32_t* indices;
  const T* values;
  bool has_unit_norm;
};
// Returns row . vector.
template <class T>
T sparse_dot(const SparseRows<T>& rows, std::int64_t row, const T* vector);
// target += factor * row
template <class T>
void add_sparse_row(const SparseRows<T>& rows, std::int64_t row, T factor, T* target);
// The functions below process the rows [begin, end); per-row arrays are indexed by the row.
// products[r] = row r . vector + constant
template <class T>
void multiply_sparse(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,
                     const T* vector, T constant, T* products);
// target += sum over r of factors[r] * row r
template <class T>
void add_sparse(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end, const T* factors,
                T* target);
// target[2j] += first[r] * x, target[2j + 1] += second[r] * x * x for every entry x in column j.
template <class T>
void add_sparse_pairs(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,
                      const T* first, const T* second, T* target);
// Computes products as multiply_sparse does, then target += sum over r of curvature[r] * products[r] * row r. Returns
// the sum of curvature[r] * products[r].
template <class T>
double add_sparse_curvature(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,
                            const T* vector, T constant, const T* curvature, T* products,
                            T* target);

// Logistic loss log(1 + exp(-label * margin)) for labels of -1 and 1. Returns the weighted sum, and writes the weighted
// first and second derivatives with respect to the margin of each row. `weights` null: all 1.
template <class T>
double logistic_terms(const T* margins, const T* labels, const T* weights, std::int64_t count,
                      T* first, T* second);

}  // namespace tutti::learn
