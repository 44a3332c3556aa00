#include "tutti/learn/base/vector_kernels.h"

// Only AVX2 and AVX-512 have dedicated code; older CPUs use the baseline. Sizeless vectors (SVE, RVV) cannot be stored
// in arrays of accumulators.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/learn/base/vector_kernels.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.h, which includes this file again for each instruction set.
#include <hwy/highway.h>

#include "tutti/core/cpu_isa.h"
#include "tutti/learn/base/internal/dense_rows-inl.h"
#include "tutti/learn/base/internal/sparse_rows-inl.h"
#include "tutti/learn/base/internal/terms-inl.h"

#if HWY_ONCE
namespace tutti::learn {

[[maybe_unused]] const bool kTargetsAreLimited = limit_vector_targets();

#define TUTTI_EXPORT(name) \
  HWY_EXPORT(name##_f32);  \
  HWY_EXPORT(name##_f64);
TUTTI_EXPORT(dot)
TUTTI_EXPORT(add_scaled)
TUTTI_EXPORT(add_to_double)
TUTTI_EXPORT(multiply_rows)
TUTTI_EXPORT(add_rows)
TUTTI_EXPORT(add_squares)
TUTTI_EXPORT(fill_rows)
TUTTI_EXPORT(pack_rows)
TUTTI_EXPORT(add_gram)
TUTTI_EXPORT(sparse_dot)
TUTTI_EXPORT(add_sparse_row)
TUTTI_EXPORT(multiply_sparse)
TUTTI_EXPORT(add_sparse)
TUTTI_EXPORT(add_sparse_pairs)
TUTTI_EXPORT(add_sparse_curvature)
TUTTI_EXPORT(logistic_terms)
#undef TUTTI_EXPORT

#define TUTTI_DISPATCH(T, suffix)                                                                  \
  template <>                                                                                      \
  double dot<T>(const T* a, const T* b, std::int64_t count) {                                      \
    return HWY_DYNAMIC_DISPATCH(dot_##suffix)(a, b, count);                                        \
  }                                                                                                \
  template <>                                                                                      \
  void add_scaled<T>(T factor, const T* source, std::int64_t count, T* target) {                   \
    HWY_DYNAMIC_DISPATCH(add_scaled_##suffix)(factor, source, count, target);                      \
  }                                                                                                \
  template <>                                                                                      \
  void add_to_double<T>(const T* source, std::int64_t count, double* target) {                     \
    HWY_DYNAMIC_DISPATCH(add_to_double_##suffix)(source, count, target);                           \
  }                                                                                                \
  template <>                                                                                      \
  void multiply_rows<T>(const T* rows, std::int64_t stride, std::int64_t count,                    \
                        std::int64_t columns, const T* vector, T constant, T* products) {          \
    HWY_DYNAMIC_DISPATCH(multiply_rows_##suffix)                                                   \
    (rows, stride, count, columns, vector, constant, products);                                    \
  }                                                                                                \
  template <>                                                                                      \
  void add_rows<T>(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t columns,   \
                   const T* factors, T* target) {                                                  \
    HWY_DYNAMIC_DISPATCH(add_rows_##suffix)(rows, stride, count, columns, factors, target);        \
  }                                                                                                \
  template <>                                                                                      \
  void add_squares<T>(const T* rows, std::int64_t stride, std::int64_t count,                      \
                      std::int64_t columns, const T* factors, T* target) {                         \
    HWY_DYNAMIC_DISPATCH(add_squares_##suffix)(rows, stride, count, columns, factors, target);     \
  }                                                                                                \
  template <>                                                                                      \
  void fill_rows<T>(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t columns,  \
                    const T* shift, std::int64_t width, T* target) {                               \
    HWY_DYNAMIC_DISPATCH(fill_rows_##suffix)(rows, stride, count, columns, shift, width, target);  \
  }                                                                                                \
  template <>                                                                                      \
  void pack_rows<T>(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t columns,  \
                    const T* factors, std::int64_t width, T* packed) {                             \
    HWY_DYNAMIC_DISPATCH(pack_rows_##suffix)                                                       \
    (rows, stride, count, columns, factors, width, packed);                                        \
  }                                                                                                \
  template <>                                                                                      \
  void add_gram<T>(const T* packed, std::int64_t count, std::int64_t columns, std::int64_t begin,  \
                   std::int64_t end, double* gram) {                                               \
    HWY_DYNAMIC_DISPATCH(add_gram_##suffix)(packed, count, columns, begin, end, gram);             \
  }                                                                                                \
  template <>                                                                                      \
  T sparse_dot<T>(const SparseRows<T>& rows, std::int64_t row, const T* vector) {                  \
    return HWY_DYNAMIC_DISPATCH(sparse_dot_##suffix)(rows, row, vector);                           \
  }                                                                                                \
  template <>                                                                                      \
  void add_sparse_row<T>(const SparseRows<T>& rows, std::int64_t row, T factor, T* target) {       \
    HWY_DYNAMIC_DISPATCH(add_sparse_row_##suffix)(rows, row, factor, target);                      \
  }                                                                                                \
  template <>                                                                                      \
  void multiply_sparse<T>(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,         \
                          const T* vector, T constant, T* products) {                              \
    HWY_DYNAMIC_DISPATCH(multiply_sparse_##suffix)(rows, begin, end, vector, constant, products);  \
  }                                                                                                \
  template <>                                                                                      \
  void add_sparse<T>(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,              \
                     const T* factors, T* target) {                                                \
    HWY_DYNAMIC_DISPATCH(add_sparse_##suffix)(rows, begin, end, factors, target);                  \
  }                                                                                                \
  template <>                                                                                      \
  void add_sparse_pairs<T>(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,        \
                           const T* first, const T* second, T* target) {                           \
    HWY_DYNAMIC_DISPATCH(add_sparse_pairs_##suffix)(rows, begin, end, first, second, target);      \
  }                                                                                                \
  template <>                                                                                      \
  double add_sparse_curvature<T>(const SparseRows<T>& rows, std::int64_t begin, std::int64_t end,  \
                                 const T* vector, T constant, const T* curvature, T* products,     \
                                 T* target) {                                                      \
    return HWY_DYNAMIC_DISPATCH(add_sparse_curvature_##suffix)(rows, begin, end, vector, constant, \
                                                               curvature, products, target);       \
  }                                                                                                \
  template <>                                                                                      \
  double logistic_terms<T>(const T* margins, const T* labels, const T* weights,                    \
                           std::int64_t count, T* first, T* second) {                              \
    return HWY_DYNAMIC_DISPATCH(logistic_terms_##suffix)(margins, labels, weights, count, first,   \
                                                         second);                                  \
  }

TUTTI_DISPATCH(float, f32)
TUTTI_DISPATCH(double, f64)
#undef TUTTI_DISPATCH

}  // namespace tutti::learn
#endif
