#include "tutti/learn/glm/solvers/solve_multinomial.h"

#include <fmt/format.h>

#include "tutti/core/error.h"
#include "tutti/learn/base/vector_kernels.h"
#include "tutti/learn/data/data_set.h"
#include "tutti/learn/glm/linalg/preconditioner.h"
#include "tutti/learn/glm/solvers/l1_multinomial.h"
#include "tutti/learn/glm/solvers/softmax_state.h"
#include "tutti/learn/glm/solvers/solve.h"

namespace tutti::learn {
namespace {

constexpr int kMaxSoftmaxSteps = 100;
constexpr double kSoftmaxForcing = 0.1;

// Newton-CG for the softmax loss with an l2 penalty, over the weights of all classes together.
//
// Each iteration
// 1. computes the gradient. Its squared norm over twice l2 bounds the gap, because the objective is strongly convex;
// 2. updates the preconditioner of each class with the diagonal of the Hessian; the correlations between columns are
//    estimated once, in the first iteration;
// 3. computes the direction by conjugate gradients, to a residual of a tenth. One product with the Hessian takes one
//    pass over the rows for all classes. The products of the direction with all rows are accumulated in `moves_`;
// 4. performs a backtracking line search on the margins plus a multiple of `moves_`, which needs no pass.
// Without l2 the gap is estimated by the predicted gain.
template <class T>
class Multinomial : SoftmaxState<T> {
 public:
  Multinomial(DesignMatrix<T>& design, std::span<const std::int32_t> classes, int count,
              std::span<const double> weights, const GlmOptions& options, Tracker& tracker)
      : SoftmaxState<T>(design, classes, count, weights, options, tracker) {
    for (int k = 0; k < count; ++k) preconditioners_.emplace_back(design);
    for (auto* vector : {&direction_, &residual_, &search_, &curved_, &solved_})
      vector->resize(weights_.size());
  }

  MultinomialModel run() {
    return this->found_by([this] { return run_steps(); });
  }

 private:
  bool run_steps();
  double penalty(double step_size) const;
  void find_gradient();
  void prepare(bool correlates);
  double precondition();
  double multiply_with_ridge();
  double find_direction();
  bool search_line(double promised);
  double ridge_of(std::int64_t i) const { return this->is_intercept(i) ? 0 : options_.l2; }

  using SoftmaxState<T>::design_, SoftmaxState<T>::options_, SoftmaxState<T>::tracker_;
  using SoftmaxState<T>::count_, SoftmaxState<T>::rows_, SoftmaxState<T>::columns_;
  using SoftmaxState<T>::width_, SoftmaxState<T>::weights_, SoftmaxState<T>::objective_;
  using SoftmaxState<T>::gap_, SoftmaxState<T>::margins_, SoftmaxState<T>::trial_;
  using SoftmaxState<T>::moves_, SoftmaxState<T>::products_, SoftmaxState<T>::gradient_;
  using SoftmaxState<T>::evaluate;

  std::vector<Preconditioner<T>> preconditioners_;
  std::vector<T> direction_, residual_, search_, curved_, solved_;
};

template <class T>
double Multinomial<T>::penalty(double step_size) const {
  double sum = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const double w = weights_[i] + step_size * static_cast<double>(direction_[i]);
    sum += ridge_of(static_cast<std::int64_t>(i)) * w * w / 2;
  }
  return sum;
}

template <class T>
void Multinomial<T>::find_gradient() {
  this->compute_gradient();
  double square = 0;
  for (std::size_t i = 0; i < gradient_.size(); ++i) {
    if (this->is_intercept(static_cast<std::int64_t>(i))) continue;
    gradient_[i] += static_cast<T>(options_.l2 * weights_[i]);
    square += static_cast<double>(gradient_[i]) * static_cast<double>(gradient_[i]);
  }
  if (options_.l2 > 0) gap_ = square / (2 * options_.l2);
}

// One preconditioner per class; the blocks of the Hessian between classes are ignored.
template <class T>
void Multinomial<T>::prepare(bool correlates) {
  std::vector<T> curvature(rows_), ignored(width_), diagonal(width_);
  for (std::int64_t k = 0; k < count_; ++k) {
    const double sum = this->fill_curvature(k, curvature);
    design_.gradient_and_diagonal(curvature.data(), curvature.data(), ignored.data(),
                                  diagonal.data());
    if (correlates) preconditioners_[k].correlate(curvature.data());
    preconditioners_[k].set_diagonal(diagonal.data(), options_.fit_intercept ? sum : 0,
                                     options_.l2);
  }
  tracker_.add_passes(0.5);
}

template <class T>
double Multinomial<T>::precondition() {
  double product = 0;
  for (std::int64_t k = 0; k < count_; ++k)
    product +=
        preconditioners_[k].apply(residual_.data() + k * width_, solved_.data() + k * width_);
  return product;
}

// Returns search . curved.
template <class T>
double Multinomial<T>::multiply_with_ridge() {
  this->multiply_hessian(search_, products_, curved_);
  double product = 0;
  for (std::size_t i = 0; i < curved_.size(); ++i) {
    curved_[i] += static_cast<T>(ridge_of(static_cast<std::int64_t>(i))) * search_[i];
    product += static_cast<double>(curved_[i]) * static_cast<double>(search_[i]);
  }
  return product;
}

// Returns the predicted gain of the quadratic model.
template <class T>
double Multinomial<T>::find_direction() {
  std::fill(direction_.begin(), direction_.end(), T{0});
  std::fill(moves_.begin(), moves_.end(), T{0});
  for (std::size_t i = 0; i < residual_.size(); ++i) residual_[i] = -gradient_[i];
  double length = precondition(), gain = 0;
  const double first_length = length;
  search_ = solved_;
  for (int step = 0;
       step < kMaxSoftmaxSteps && length > kSoftmaxForcing * kSoftmaxForcing * first_length;
       ++step) {
    const double curvature = multiply_with_ridge();
    if (!(curvature > 0)) break;
    const T step_size = static_cast<T>(length / curvature);
    gain += length * length / curvature / 2;
    add_scaled(step_size, products_.data(), count_ * rows_, moves_.data());
    add_scaled(step_size, search_.data(), count_ * width_, direction_.data());
    add_scaled(-step_size, curved_.data(), count_ * width_, residual_.data());
    const double before = length;
    length = precondition();
    const T keep = static_cast<T>(length / before);
    for (std::size_t i = 0; i < search_.size(); ++i) search_[i] = solved_[i] + keep * search_[i];
  }
  return gain;
}

template <class T>
bool Multinomial<T>::search_line(double promised) {
  double step_size = 1;
  for (int attempt = 0; attempt < 40; ++attempt, step_size /= 2) {
    for (std::size_t i = 0; i < trial_.size(); ++i)
      trial_[i] = margins_[i] + static_cast<T>(step_size) * moves_[i];
    const double value = evaluate(trial_) + penalty(step_size);
    if (value > objective_ - 1e-4 * step_size * promised) continue;
    margins_.swap(trial_);
    for (std::size_t i = 0; i < weights_.size(); ++i)
      weights_[i] += step_size * static_cast<double>(direction_[i]);
    objective_ = value;
    return true;
  }
  return false;
}

// Returns whether the fit has converged.
template <class T>
bool Multinomial<T>::run_steps() {
  this->take_start();
  objective_ = evaluate(margins_) + penalty(0);
  tracker_.set_scale(objective_);
  for (int iteration = 0; iteration < options_.max_iterations; ++iteration) {
    find_gradient();
    prepare(iteration == 0);
    const double gain = find_direction();
    if (!(options_.l2 > 0)) gap_ = gain;
    if (!tracker_.report(objective_, gap_)) return false;
    const bool is_enough = tracker_.is_within_tolerance(objective_, gap_);
    const bool has_gained = search_line(gain);  // also at the end, for full precision
    if (is_enough || !has_gained || gain <= kRelativeRounding * objective_)
      return tracker_.is_at_precision_limit(objective_, gap_);
  }
  return false;
}

}  // namespace

template <class T>
MultinomialModel solve_multinomial(DesignMatrix<T>& design, std::span<const std::int32_t> classes,
                                   int count, std::span<const double> weights,
                                   const GlmOptions& options) {
  Tracker tracker(options, sizeof(T) == 4);
  MultinomialModel model =
      options.l1 > 0 ? solve_l1_multinomial(design, classes, count, weights, options, tracker)
                     : Multinomial<T>(design, classes, count, weights, options, tracker).run();
  check_finite(model.coefficients, model.intercepts, model.objective, model.dual_gap);
  return model;
}
template MultinomialModel solve_multinomial(DesignMatrix<float>&, std::span<const std::int32_t>,
                                            int, std::span<const double>, const GlmOptions&);
template MultinomialModel solve_multinomial(DesignMatrix<double>&, std::span<const std::int32_t>,
                                            int, std::span<const double>, const GlmOptions&);

void check_multinomial(const Shape& shape, std::span<const std::int32_t> classes, int count,
                       std::span<const double> weights, const GlmOptions& options) {
  const auto refuse = [](const std::string& message) { throw ConfigError("DDL-9-11", message); };
  check_length(shape.rows, classes.size(), "labels");
  check_weights(shape.rows, weights, options);
  const auto check_start = [&](const std::vector<double>& given, std::int64_t wanted,
                               std::string_view what) {
    if (!given.empty() && static_cast<std::int64_t>(given.size()) != wanted)
      refuse(fmt::format("There are {} initial {} for {} classes of {} columns.", given.size(),
                         what, count, shape.columns));
  };
  check_start(options.start_coefficients, count * shape.columns, "coefficients");
  check_start(options.start_intercepts, count, "intercepts");
  for (std::size_t row = 0; row < classes.size(); ++row)
    if (classes[row] < 0 || classes[row] >= count)
      refuse(fmt::format("The class of row {} is {}, outside of 0..{}.", row, classes[row],
                         count - 1));
}

}  // namespace tutti::learn
