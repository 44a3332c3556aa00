#include "tutti/learn/glm/fit.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "tutti/core/error.h"
#include "tutti/learn/glm/internal/dual_step.h"
#include "tutti/learn/glm/internal/newton.h"
#include "tutti/learn/glm/internal/newton_cg.h"
#include "tutti/learn/glm/internal/sdca.h"
#include "tutti/learn/glm/internal/working_set.h"

namespace tutti::learn {
namespace {

constexpr std::array<std::pair<Solver, std::string_view>, 5> kNames = {{
    {Solver::kAuto, "auto"},
    {Solver::kNewton, "newton"},
    {Solver::kNewtonCg, "newton_cg"},
    {Solver::kSdca, "sdca"},
    {Solver::kWorkingSet, "working_set"},
}};

[[noreturn]] void refuse(const std::string& sentence) {
  throw ConfigError("DDL-9-11", sentence);
}

void check_label(Loss loss, double label, std::size_t row) {
  if (!std::isfinite(label)) refuse(fmt::format("The label of row {} is {}.", row, label));
  if (is_classification(loss) && label != 1 && label != -1)
    refuse(fmt::format("The label of row {} is {}; a loss that classifies needs -1 or 1.", row,
                       label));
  if (loss == Loss::kPoisson && label < 0)
    refuse(fmt::format("The label of row {} is {}; counts are not negative.", row, label));
  if (loss == Loss::kGamma && label <= 0)
    refuse(
        fmt::format("The label of row {} is {}; the gamma loss needs labels above 0.", row, label));
}

void check_options(const Matrix& features, std::span<const double> labels,
                   std::span<const double> weights, const GlmOptions& options) {
  const std::size_t rows = static_cast<std::size_t>(features.rows);
  if (labels.size() != rows)
    refuse(fmt::format("There are {} labels for {} rows.", labels.size(), rows));
  if (!weights.empty() && weights.size() != rows)
    refuse(fmt::format("There are {} weights for {} rows.", weights.size(), rows));
  if (!(options.l1 >= 0) || !(options.l2 >= 0) || !(options.tolerance >= 0))
    refuse("Penalties and tolerance are not negative.");
  if (options.penalise_intercept && !(options.intercept_value > 0))
    refuse("intercept_value must be above 0.");
  if (!options.start_coefficients.empty() &&
      static_cast<std::int64_t>(options.start_coefficients.size()) != features.columns)
    refuse(fmt::format("There are {} coefficients to start with for {} columns.",
                       options.start_coefficients.size(), features.columns));
  for (std::size_t row = 0; row < rows; ++row) check_label(options.loss, labels[row], row);
  double total = 0;
  for (std::size_t row = 0; row < weights.size(); ++row) {
    if (!(weights[row] >= 0) || !std::isfinite(weights[row]))
      refuse(fmt::format("The weight of row {} is {}; weights are finite and not negative.", row,
                         weights[row]));
    total += weights[row];
  }
  const bool is_empty = rows == 0 || (!weights.empty() && total == 0);
  if (is_empty && options.ranks == nullptr) refuse("There are no rows to learn from.");
}

// Throws when the solver is not made for what is asked.
void check_solver(const Matrix& features, const GlmOptions& options, Solver solver) {
  const std::string_view name = name_of(solver);
  const std::string_view loss = name_of(options.loss);
  if (solver == Solver::kSdca) {
    if (!has_dual_step(options.loss))
      refuse(fmt::format("Solver {} has no {} loss. Use auto.", name, loss));
    if (options.l1 > 0 || !(options.l2 > 0))
      refuse(fmt::format("Solver {} needs l2 > 0 and no l1.", name));
    return;
  }
  if (!is_smooth(options.loss))
    refuse(fmt::format("The {} loss needs solver sdca, l2 > 0 and no l1; not {}.", loss, name));
  if (solver == Solver::kNewton && features.columns > kMostColumnsForNewton)
    refuse(fmt::format("Solver {} is for at most {} columns, there are {}. Use newton_cg.", name,
                       kMostColumnsForNewton, features.columns));
  if (solver == Solver::kNewtonCg && options.l1 > 0)
    refuse(fmt::format("Solver {} knows no l1. Use auto.", name));
  const bool is_penalised = options.fit_intercept && options.penalise_intercept;
  if (options.l1 > 0 && is_penalised) refuse("With l1 the intercept cannot be penalised.");
  if (solver == Solver::kWorkingSet && options.ranks != nullptr)
    refuse(fmt::format("Over ranks l1 is for at most {} columns; there are {}.",
                       kMostColumnsForNewton, features.columns));
}

template <class T>
Solution solve(Problem<T>& problem, const Matrix& features, Solver solver, Tracker& tracker) {
  switch (solver) {
    case Solver::kNewton: return solve_newton(problem, tracker);
    case Solver::kSdca: return solve_sdca(problem, tracker);
    case Solver::kWorkingSet: return solve_working_set(problem, features, tracker);
    default: return solve_newton_cg(problem, tracker);
  }
}

template <class T>
GlmModel fit_typed(const Matrix& features, std::span<const double> labels,
                   std::span<const double> weights, const GlmOptions& options, Solver solver,
                   Threads& threads) {
  Tracker tracker(options);
  // By columns a solver needs nothing of the rows but that they are there.
  const bool by_columns = solver == Solver::kWorkingSet;
  const Matrix no_columns{.dtype = features.dtype, .rows = features.rows};
  const auto design = Design<T>::create(by_columns ? no_columns : features, threads, options.ranks);
  Problem<T> problem(*design, labels, weights, options);
  const Solution solution = solve(problem, features, solver, tracker);
  GlmModel model;
  model.coefficients.assign(features.columns, 0);
  for (std::size_t j = 0; j < solution.coefficients.size(); ++j)
    model.coefficients[by_columns ? j : design->original(j)] = solution.coefficients[j];
  model.intercept = solution.intercept;
  model.objective = solution.objective;
  model.dual_gap = solution.dual_gap;
  model.has_converged = solution.has_converged;
  model.solver = solver;
  model.history = tracker.take();
  return model;
}

}  // namespace

std::string_view name_of(Solver solver) {
  for (const auto& [value, name] : kNames)
    if (value == solver) return name;
  return "";
}

Solver parse_solver(std::string_view name) {
  std::string all;
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", known);
  }
  throw ConfigError("DDL-9-10", fmt::format("There is no solver '{}'. There are: {}.", name, all));
}

Solver choose_solver(const Matrix& features, const GlmOptions& options) {
  if (options.solver != Solver::kAuto) return options.solver;
  if (!is_smooth(options.loss)) return Solver::kSdca;
  const bool is_small = features.rows * features.columns <= 1 << 20;
  const bool has_few =
      features.columns <= kMostColumnsForNewton && (!features.is_sparse() || is_small);
  if (has_few) return Solver::kNewton;
  return options.l1 > 0 ? Solver::kWorkingSet : Solver::kNewtonCg;
}

GlmModel fit(const Matrix& features, std::span<const double> labels,
             std::span<const double> weights, const GlmOptions& options) {
  Threads threads(options.threads);
  check_options(features, labels, weights, options);
  check(features, threads);
  const Solver solver = choose_solver(features, options);
  check_solver(features, options, solver);
  const Matrix matrix = solver == Solver::kNewton ? to_form(features, Form::kDense, threads)
                        : solver == Solver::kWorkingSet
                            ? to_form(features, Form::kSparseColumns, threads)
                            : features;
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
    refuse(fmt::format("The model has {} coefficients, the data {} columns.", coefficients.size(),
                       features.columns));
  Threads threads(features.entries() < 1 << 16 ? 1 : threads_wanted);
  const Matrix m = features.form == Form::kSparseColumns
                       ? to_form(features, Form::kSparseRows, threads)
                       : features;
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
