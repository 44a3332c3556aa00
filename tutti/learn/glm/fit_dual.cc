#include "tutti/learn/glm/fit_dual.h"

#include <algorithm>
#include <cmath>

#include "tutti/learn/glm/design/row_gram.h"
#include "tutti/learn/glm/linalg/cholesky.h"
#include "tutti/learn/glm/margins.h"
#include "tutti/learn/glm/solvers/solve.h"

namespace tutti::learn {
namespace {

double objective_of(const std::vector<double>& margins, const GlmModel& model,
                    std::span<const double> labels, std::span<const double> weights,
                    const GlmOptions& options) {
  std::vector<double> first(margins.size()), second(margins.size());
  double sum = loss_terms(options.loss, margins.data(), labels.data(),
                          weights.empty() ? nullptr : weights.data(),
                          static_cast<std::int64_t>(margins.size()), first.data(), second.data());
  double squares = 0;
  for (const double weight : model.coefficients) squares += weight * weight;
  if (options.fit_intercept && options.penalise_intercept)
    squares += std::pow(model.intercept / options.intercept_value, 2);
  return sum + options.l2 / 2 * squares;
}

// The start values in the coordinates of L: those with the same margins.
void transform_start(const Matrix& features, const Cholesky& cholesky, GlmOptions& options) {
  if (options.start_coefficients.empty()) return;
  options.start_coefficients = margins_of(features, options.start_coefficients, 0, options.threads);
  cholesky.solve_factor(options.start_coefficients.data());
}

}  // namespace

GlmModel fit_dual(const Matrix& features, std::span<const double> labels,
                  std::span<const double> weights, const GlmOptions& options, Threads& threads) {
  const std::int64_t rows = features.rows;
  const Cholesky cholesky(row_gram(features, threads), rows, threads);
  const std::vector<double> factor = cholesky.factor();
  const Matrix reduced{.dtype = DType::kF64,
                       .rows = rows,
                       .columns = rows,
                       .values = factor.data(),
                       .row_stride = rows};
  GlmOptions inner = options;
  transform_start(features, cholesky, inner);
  const auto design = DesignMatrix<double>::create(reduced, threads);
  const bool is_hinge = options.loss == Loss::kHinge;
  GlmModel model = solve(*design, nullptr, labels, weights, inner,
                         is_hinge ? Solver::kInteriorPoint : Solver::kNewton);
  const double bound = model.objective - model.dual_gap, inner_objective = model.objective;
  cholesky.solve_transposed_factor(model.coefficients.data());
  model.coefficients = combine_rows(features, model.coefficients.data(), threads);
  const std::vector<double> margins =
      margins_of(features, model.coefficients, model.intercept, options.threads);
  model.objective = objective_of(margins, model, labels, weights, options);
  model.dual_gap = std::max(0.0, model.objective - bound);
  const double lost = model.objective - inner_objective;  // by rounding
  model.has_converged =
      model.has_converged &&
      lost <= std::max(options.tolerance, kF64GapPrecision) * std::abs(model.objective);
  if (!model.history.empty()) {
    model.history.back().objective = model.objective;
    model.history.back().dual_gap = model.dual_gap;
  }
  model.solver = Solver::kDual;
  return model;
}

}  // namespace tutti::learn
