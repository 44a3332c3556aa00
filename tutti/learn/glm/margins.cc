#include "tutti/learn/glm/margins.h"

#include <fmt/format.h>

#include "tutti/core/error.h"
#include "tutti/learn/base/threads.h"

namespace tutti::learn {
namespace {

template <class T>
double margin_of_row(const Matrix& m, std::int64_t row, std::span<const double> coefficients) {
  double sum = 0;
  if (m.is_sparse()) {
    for (std::int64_t i = m.offsets[row]; i < m.offsets[row + 1]; ++i)
      sum += static_cast<double>(value_at<T>(m, row, i)) * coefficients[m.indices[i]];
  } else {
    const T* values = static_cast<const T*>(m.values) + row * m.row_stride;
    for (std::int64_t j = 0; j < m.columns; ++j)
      sum += static_cast<double>(values[j * m.column_stride]) * coefficients[j];
  }
  return sum;
}

}  // namespace

std::vector<double> margins_of(const Matrix& features, std::span<const double> coefficients,
                               double intercept, int threads_wanted) {
  if (static_cast<std::int64_t>(coefficients.size()) != features.columns)
    throw ConfigError("DDL-9-11", fmt::format("The model has {} coefficients, the data {} columns.",
                                              coefficients.size(), features.columns));
  Threads threads(features.entries() < 1 << 16 ? 1 : threads_wanted);
  const Matrix m =
      features.storage == Storage::kCsc ? to_storage(features, Storage::kCsr, threads) : features;
  std::vector<double> margins(m.rows);
  threads.for_range(m.rows, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      margins[row] =
          intercept + (m.dtype == DType::kF32 ? margin_of_row<float>(m, row, coefficients)
                                              : margin_of_row<double>(m, row, coefficients));
  });
  return margins;
}

}  // namespace tutti::learn
