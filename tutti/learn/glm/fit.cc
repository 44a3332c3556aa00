#include "tutti/learn/glm/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "tutti/core/error.h"
#include "tutti/core/options.h"
#include "tutti/learn/glm/fit_dual.h"
#include "tutti/learn/glm/solvers/solve.h"

namespace tutti::learn {
namespace {

constexpr std::array<std::pair<Solver, std::string_view>, 7> kNames = {{
    {Solver::kAuto, "auto"},
    {Solver::kNewton, "newton"},
    {Solver::kNewtonCg, "newton_cg"},
    {Solver::kSdca, "sdca"},
    {Solver::kWorkingSet, "working_set"},
    {Solver::kInteriorPoint, "interior_point"},
    {Solver::kDual, "dual"},
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
  return {.rows = features.rows,
          .columns = features.columns,
          .entries = features.entries(),
          .is_sparse = features.is_sparse()};
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
  return choose_solver(shape_of(features), options).solver;
}

GlmModel fit(const Matrix& features, std::span<const double> labels,
             std::span<const double> weights, const GlmOptions& options) {
  Threads threads(options.threads);
  check_options(shape_of(features), labels, weights, options);
  check(features, threads);
  const auto [solver, why] = choose_solver(shape_of(features).over(options.ranks), options);
  check_solver(shape_of(features), options, solver);
  const auto matrix = [&, chosen = solver] {
    switch (chosen) {
      case Solver::kNewton: return to_storage(features, Storage::kDense, threads);
      case Solver::kInteriorPoint:
        return in_double(to_storage(features, Storage::kDense, threads), threads);
      case Solver::kWorkingSet: return to_storage(features, Storage::kCsc, threads);
      case Solver::kDual:
        return features.storage == Storage::kCsc ? to_storage(features, Storage::kCsr, threads)
                                                 : features;
      default: return features;
    }
  }();
  GlmModel model = solver == Solver::kDual ? fit_dual(matrix, labels, weights, options, threads)
                   : matrix.dtype == DType::kF32
                       ? fit_typed<float>(matrix, labels, weights, options, solver, threads)
                       : fit_typed<double>(matrix, labels, weights, options, solver, threads);
  model.why = why;
  return model;
}

}  // namespace tutti::learn
