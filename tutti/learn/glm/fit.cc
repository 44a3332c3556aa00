#include "tutti/learn/glm/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "tutti/core/error.h"
#include "tutti/core/options.h"
#include "tutti/learn/glm/solvers/solve.h"

namespace tutti::learn {
namespace {

constexpr std::array<std::pair<Solver, std::string_view>, 6> kNames = {{
    {Solver::kAuto, "auto"},
    {Solver::kNewton, "newton"},
    {Solver::kNewtonCg, "newton_cg"},
    {Solver::kSdca, "sdca"},
    {Solver::kWorkingSet, "working_set"},
    {Solver::kInteriorPoint, "interior_point"},
}};

template <class T>
GlmModel fit_typed(const Matrix& features, std::span<const double> labels,
                   std::span<const double> weights, const GlmOptions& options, Solver solver,
                   Threads& threads) {
  if (solver != Solver::kWorkingSet) {
    const auto design = DesignMatrix<T>::create(features, threads, options.ranks);
    return solve(*design, nullptr, labels, weights, options, solver);
  }
  const Matrix no_columns{.dtype = features.dtype, .rows = features.rows};
  const auto design = DesignMatrix<T>::create(no_columns, threads, options.ranks);
  return solve(*design, &features, labels, weights, options, solver);
}

// Copies dense f32 rows to f64. The interior-point method ends with row weights from 1e-9 to 1e9, which sums in f32
// cannot represent.
Matrix in_double(const Matrix& rows, Threads& threads) {
  if (rows.dtype == DType::kF64) return rows;
  auto values =
      std::make_shared_for_overwrite<double[]>(static_cast<std::size_t>(rows.rows * rows.columns));
  threads.for_range(rows.rows, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r)
      std::copy_n(static_cast<const float*>(rows.values) + r * rows.row_stride, rows.columns,
                  values.get() + r * rows.columns);
  });
  Matrix copy = rows;
  copy.dtype = DType::kF64;
  copy.values = values.get();
  copy.row_stride = rows.columns;
  copy.owner = values;
  return copy;
}

Shape shape_of(const Matrix& features) {
  return {features.rows, features.columns, features.is_sparse()};
}

}  // namespace

std::string_view name_of(Solver solver) {
  for (const auto& [value, name] : kNames)
    if (value == solver) return name;
  return "";
}

std::vector<std::string> solver_names() {
  std::vector<std::string> names;
  for (const auto& [solver, name] : kNames) names.emplace_back(name);
  return names;
}

Solver parse_solver(std::string_view name) {
  if (name == "interior") {
    warn_deprecated("solver", name, "interior_point");
    return Solver::kInteriorPoint;
  }
  for (const auto& [value, known] : kNames)
    if (known == name) return value;
  throw ConfigError("DDL-9-10", fmt::format("Unknown solver '{}'. Valid values: {}.", name,
                                            fmt::join(solver_names(), ", ")));
}

Solver choose_solver(const Matrix& features, const GlmOptions& options) {
  return choose_solver(shape_of(features), options);
}

GlmModel fit(const Matrix& features, std::span<const double> labels,
             std::span<const double> weights, const GlmOptions& options) {
  Threads threads(options.threads);
  check_options(shape_of(features), labels, weights, options);
  check(features, threads);
  const Solver solver = choose_solver(shape_of(features).over(options.ranks), options);
  check_solver(shape_of(features), options, solver);
  const auto matrix = [&] {
    switch (solver) {
      case Solver::kNewton: return to_storage(features, Storage::kDense, threads);
      case Solver::kInteriorPoint:
        return in_double(to_storage(features, Storage::kDense, threads), threads);
      case Solver::kWorkingSet: return to_storage(features, Storage::kCsc, threads);
      default: return features;
    }
  }();
  return matrix.dtype == DType::kF32
             ? fit_typed<float>(matrix, labels, weights, options, solver, threads)
             : fit_typed<double>(matrix, labels, weights, options, solver, threads);
}

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
