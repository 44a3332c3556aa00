#include "tutti/learn/glm/solvers/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tutti/core/error.h"
#include "tutti/learn/data/data_set.h"
#include "tutti/learn/glm/problem/dual_step.h"
#include "tutti/learn/glm/solvers/interior_point.h"
#include "tutti/learn/glm/solvers/l1_newton_cg.h"
#include "tutti/learn/glm/solvers/newton.h"
#include "tutti/learn/glm/solvers/newton_cg.h"
#include "tutti/learn/glm/solvers/sdca.h"
#include "tutti/learn/glm/solvers/working_set.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kMaxRowsForDual = 2048;
// Multiplications for the products of all sparse rows, which access memory at random.
constexpr std::int64_t kMaxSparseProducts = 1'000'000'000;

[[noreturn]] void refuse(const std::string& message) {
  throw ConfigError("DDL-9-11", message);
}

[[noreturn]] void refuse_label(Loss loss, double label, std::size_t row) {
  if (!std::isfinite(label)) refuse(fmt::format("The label of row {} is {}.", row, label));
  if (is_classification(loss))
    refuse(
        fmt::format("The label of row {} is {}; classification losses need -1 or 1.", row, label));
  if (loss == Loss::kPoisson)
    refuse(fmt::format("The label of row {} is {}; the poisson loss needs labels of at least 0.",
                       row, label));
  refuse(
      fmt::format("The label of row {} is {}; the gamma loss needs labels above 0.", row, label));
}

// Returns the index of the first label that is invalid for the loss, or the number of labels.
std::size_t first_wrong(Loss loss, std::span<const double> labels) {
  const auto first = [&](auto is_right) {
    return static_cast<std::size_t>(std::find_if_not(labels.begin(), labels.end(), is_right) -
                                    labels.begin());
  };
  constexpr double kMax = std::numeric_limits<double>::max();
  if (is_classification(loss)) return first([](double y) { return std::abs(y) == 1; });
  if (loss == Loss::kPoisson) return first([](double y) { return y >= 0 && y <= kMax; });
  if (loss == Loss::kGamma) return first([](double y) { return y > 0 && y <= kMax; });
  return first([](double y) { return y >= -kMax && y <= kMax; });
}

}  // namespace

Shape Shape::over(comm::Communicator* ranks) const {
  Shape all = *this;
  if (ranks == nullptr) return all;
  ranks->all_reduce({&all.rows, 1, DType::kI64});
  std::array<std::int64_t, 2> extremes = {columns, -columns};
  ranks->all_reduce(Buffer::of<std::int64_t>(extremes), ReduceOp::kMax);
  if (extremes[0] != -extremes[1])
    refuse(fmt::format("The ranks have between {} and {} columns. Pass the same columns on all.",
                       -extremes[1], extremes[0]));
  return all;
}

void check_options(const Shape& shape, std::span<const double> labels,
                   std::span<const double> weights, const GlmOptions& options) {
  check_length(shape.rows, labels.size(), "labels");
  if (options.penalise_intercept && !(options.intercept_value > 0))
    refuse("intercept_value must be above 0.");
  if (!options.start_coefficients.empty() &&
      static_cast<std::int64_t>(options.start_coefficients.size()) != shape.columns)
    refuse(fmt::format("There are {} initial coefficients for {} columns.",
                       options.start_coefficients.size(), shape.columns));
  const std::size_t wrong = first_wrong(options.loss, labels);
  if (wrong < labels.size()) refuse_label(options.loss, labels[wrong], wrong);
  check_weights(shape.rows, weights, options);
}

void check_weights(std::int64_t rows, std::span<const double> weights, const GlmOptions& options) {
  if (!weights.empty()) check_length(rows, weights.size(), "weights");
  if (!(options.l1 >= 0) || !(options.l2 >= 0) || !(options.tolerance >= 0))
    refuse("Penalties and tolerance must not be negative.");
  double total = 0;
  for (std::size_t row = 0; row < weights.size(); ++row) {
    if (!(weights[row] >= 0) || !std::isfinite(weights[row]))
      refuse(
          fmt::format("The weight of row {} is {}; sample weights must be finite and not negative.",
                      row, weights[row]));
    total += weights[row];
  }
  const bool is_empty = rows == 0 || (!weights.empty() && total == 0);
  if (is_empty && options.ranks == nullptr) refuse("The training data has no rows.");
}

void check_solver(const Shape& shape, const GlmOptions& options, Solver solver) {
  const std::string_view name = name_of(solver);
  const std::string_view loss = name_of(options.loss);
  if (solver == Solver::kSdca) {
    if (!has_dual_step(options.loss))
      refuse(fmt::format("Solver {} does not support the {} loss. Use auto.", name, loss));
    if (options.l1 > 0 || !(options.l2 > 0))
      refuse(fmt::format("Solver {} needs l2 > 0 and no l1.", name));
    return;
  }
  if (solver == Solver::kDual) {
    if (options.l1 > 0 || !(options.l2 > 0))
      refuse(fmt::format("Solver {} needs l2 > 0 and no l1.", name));
    if (options.ranks != nullptr || shape.is_streamed)
      refuse(fmt::format("Solver {} needs all rows in the memory of one process. Use auto.", name));
    return;
  }
  if (solver == Solver::kInteriorPoint &&
      (options.loss != Loss::kHinge || options.l1 > 0 || !(options.l2 > 0)))
    refuse(fmt::format("Solver {} supports only the hinge loss with l2 > 0 and no l1.", name));
  if (!is_smooth(options.loss) && solver != Solver::kInteriorPoint)
    refuse(fmt::format("The {} loss needs solver sdca or interior_point, l2 > 0 and no l1; not {}.",
                       loss, name));
  const bool has_cholesky = solver == Solver::kNewton || solver == Solver::kInteriorPoint;
  if (has_cholesky && shape.columns > kMaxColumnsForNewton)
    refuse(fmt::format("Solver {} supports at most {} columns; the data has {}. Use newton_cg.",
                       name, kMaxColumnsForNewton, shape.columns));
  const bool is_penalised = options.fit_intercept && options.penalise_intercept;
  if (options.l1 > 0 && is_penalised) refuse("With l1 the intercept cannot be penalised.");
  if (solver == Solver::kWorkingSet && options.ranks != nullptr)
    refuse(fmt::format("Solver {} needs all rows in one process. Use auto.", name));
}

namespace {

// The Gram matrix of the rows is small and cheap compared with passes over the data.
bool has_cheap_row_gram(const Shape& shape) {
  if (shape.is_streamed || shape.rows > kMaxRowsForDual || shape.columns < shape.rows) return false;
  return !shape.is_sparse || shape.rows * shape.entries <= kMaxSparseProducts;
}

}  // namespace

SolverChoice choose_solver(const Shape& shape, const GlmOptions& options) {
  if (options.solver != Solver::kAuto)
    return {options.solver, fmt::format("solver={} was requested", name_of(options.solver))};
  const bool is_small = shape.rows * shape.columns <= 1 << 20;
  const bool has_few = shape.columns <= kMaxColumnsForNewton &&
                       (!shape.is_sparse || (is_small && !shape.is_streamed));
  const std::string few =
      fmt::format("{} columns are at most {}, and a Hessian of this size is cheap", shape.columns,
                  kMaxColumnsForNewton);
  const bool is_smooth_loss = is_smooth(options.loss);
  if (has_few && is_smooth_loss) return {Solver::kNewton, few};
  if (has_few && !shape.is_streamed) return {Solver::kInteriorPoint, few};
  if (options.ranks == nullptr && options.l1 == 0 && options.l2 > 0 && has_cheap_row_gram(shape))
    return {Solver::kDual,
            fmt::format("{} rows are fewer than {} columns: the products of all rows are cheap",
                        shape.rows, shape.columns)};
  if (!is_smooth_loss)
    return {Solver::kSdca, shape.is_streamed
                               ? "the hinge loss is not smooth, and the rows stay in a file"
                               : fmt::format("the hinge loss is not smooth, and {} columns are "
                                             "too many for an interior-point method",
                                             shape.columns)};
  const std::string many = fmt::format("{} {} columns are too many for their Hessian",
                                       shape.columns, shape.is_sparse ? "sparse" : "dense");
  if (options.l1 > 0 && options.ranks == nullptr && !shape.is_streamed)
    return {Solver::kWorkingSet, many + "; with l1 most weights are 0"};
  return {Solver::kNewtonCg, many};
}

void check_finite(std::span<const double> coefficients, std::span<const double> intercepts,
                  double objective, double dual_gap) {
  const auto are_finite = [](std::span<const double> numbers) {
    return std::ranges::all_of(numbers, [](double one) { return std::isfinite(one); });
  };
  if (are_finite(coefficients) && are_finite(intercepts) && std::isfinite(objective) &&
      !std::isnan(dual_gap))
    return;
  throw ConfigError("DDL-9-01",
                    "The fit overflows: values, labels or weights are too large. Scale them.");
}

template <class T>
GlmModel solve(DesignMatrix<T>& design, const Matrix* by_columns, std::span<const double> labels,
               std::span<const double> weights, const GlmOptions& options, Solver solver) {
  Tracker tracker(options, sizeof(T) == 4);
  Problem<T> problem(design, labels, weights, options);
  const Solution solution = [&] {
    switch (solver) {
      case Solver::kNewton: return solve_newton(problem, tracker);
      case Solver::kSdca: return solve_sdca(problem, tracker);
      case Solver::kInteriorPoint: return solve_interior_point(problem, tracker);
      case Solver::kWorkingSet: return solve_working_set(problem, *by_columns, tracker);
      default:
        return options.l1 > 0 ? solve_l1_newton_cg(problem, tracker)
                              : solve_newton_cg(problem, tracker);
    }
  }();
  GlmModel model;
  model.coefficients.assign(by_columns != nullptr ? by_columns->columns : design.all_columns(), 0);
  for (std::size_t j = 0; j < solution.coefficients.size(); ++j)
    model.coefficients[by_columns != nullptr ? j : design.original(j)] = solution.coefficients[j];
  model.intercept = solution.intercept;
  model.objective = solution.objective;
  model.dual_gap = solution.dual_gap;
  model.has_converged = solution.has_converged;
  model.solver = solver;
  model.inner_rounds = solution.inner_rounds;
  model.history = tracker.take();
  check_finite(model.coefficients, {&model.intercept, 1}, model.objective, model.dual_gap);
  return model;
}

template GlmModel solve(DesignMatrix<float>&, const Matrix*, std::span<const double>,
                        std::span<const double>, const GlmOptions&, Solver);
template GlmModel solve(DesignMatrix<double>&, const Matrix*, std::span<const double>,
                        std::span<const double>, const GlmOptions&, Solver);

}  // namespace tutti::learn
