#include "tutti/learn/glm/design/narrow_rows.h"

#include <algorithm>

#include "tutti/learn/base/vector_kernels.h"

namespace tutti::learn {

template <class T>
void fill_columns(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t columns,
                  const T* shift, T* target) {
  for (std::int64_t j = 0; j < columns; ++j) {
    T* const column = target + j * kMaxNarrowRows;
    const T less = shift == nullptr ? T{0} : shift[j];
    for (std::int64_t r = 0; r < count; ++r) column[r] = rows[r * stride + j] - less;
  }
  std::fill_n(target + columns * kMaxNarrowRows, count, T{1});
}

template <class T>
void add_narrow_gram(const T* columns, std::int64_t count, std::int64_t size, const T* factors,
                     std::int64_t width, double* gram) {
  T scaled[kMaxNarrowRows];
  for (std::int64_t j = 0; j < size; ++j) {
    const T* const column = columns + j * kMaxNarrowRows;
    for (std::int64_t r = 0; r < count; ++r) scaled[r] = factors[r] * column[r];
    for (std::int64_t k = j; k < size; ++k)
      gram[j * width + k] += dot(scaled, columns + k * kMaxNarrowRows, count);
  }
}

template void fill_columns(const float*, std::int64_t, std::int64_t, std::int64_t, const float*,
                           float*);
template void fill_columns(const double*, std::int64_t, std::int64_t, std::int64_t, const double*,
                           double*);
template void add_narrow_gram(const float*, std::int64_t, std::int64_t, const float*, std::int64_t,
                              double*);
template void add_narrow_gram(const double*, std::int64_t, std::int64_t, const double*,
                              std::int64_t, double*);

}  // namespace tutti::learn
