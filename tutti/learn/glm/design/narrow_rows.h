// Sums over rows of few columns. The vector kernels pad rows to kPadding columns, which would be mostly zeros; here the
// columns of a block of rows are vectors instead.
#pragma once

#include <cstdint>

namespace tutti::learn {

inline constexpr std::int64_t kMaxNarrowColumns = 12;
inline constexpr std::int64_t kMaxNarrowRows = 256;  // of a block

// Stores `count` rows as columns: target[j * kMaxNarrowRows + r] is value j of row r minus shift[j] (null: 0). Column
// `columns` is 1.
template <class T>
void fill_columns(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t columns,
                  const T* shift, T* target);

// For j <= k < size: gram[j * width + k] += sum over r of factors[r] * column j * column k.
template <class T>
void add_narrow_gram(const T* columns, std::int64_t count, std::int64_t size, const T* factors,
                     std::int64_t width, double* gram);

}  // namespace tutti::learn
