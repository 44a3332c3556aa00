#include "tutti/learn/glm/solvers/quadratic_model.h"

#include <algorithm>

// Conjugate gradients for H d = -g with the preconditioner M (preconditioner.h). Each step makes one pass over the
// selected rows, which computes the products p = X s of the search direction s and H s = X' D p + ridge s together. The
// products are accumulated in `moves`, so afterwards the margins at any fraction of d are known without a pass. The
// solve stops when the norm of the residual, measured with the inverse of M, has decreased to `forcing` of its initial
// value and the last step has contributed less than its share to the gain.
namespace tutti::learn {
namespace {

constexpr std::int64_t kColumnGrain = 16384;
constexpr int kMaxSteps = 200;  // of one conjugate gradient solve
constexpr double kStall = 0.5;

}  // namespace

template <class T>
QuadraticModel<T>::QuadraticModel(CgState<T>& state_)
    : state(state_),
      preconditioner(state_.design),
      has_intercept(state_.problem.options.fit_intercept),
      is_free(has_intercept && !state_.problem.options.penalise_intercept) {
  for (auto* vector : {&gradient, &diagonal, &direction, &residual, &search, &curved, &solved})
    vector->resize(state.columns + 1);
}

template <class T>
double QuadraticModel<T>::over_vectors(
    const std::function<double(std::int64_t, std::int64_t)>& body) {
  std::vector<double> sums(state.columns / kColumnGrain + 1);
  state.design.threads().for_range(
      state.columns + 1, kColumnGrain,
      [&](std::int64_t begin, std::int64_t end) { sums[begin / kColumnGrain] = body(begin, end); });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

template <class T>
void QuadraticModel<T>::set_ridge(double fraction) {
  const GlmOptions& options = state.problem.options;
  ridge = options.l2 * fraction;
  const double value = options.intercept_value;
  intercept_ridge = options.penalise_intercept ? ridge / (value * value) : 0;
}

template <class T>
double QuadraticModel<T>::evaluate() {
  std::copy(state.weights.begin(), state.weights.end(), search.begin());
  const auto fill = [&](std::int64_t begin, std::int64_t end) {
    loss_terms(state.problem.options.loss, state.margins.data() + begin,
               state.problem.labels.data() + begin, state.problem.weights_at(begin), end - begin,
               state.first.data() + begin, state.second.data() + begin);
  };
  state.design.multiply_and_gradient(search.data(), search[state.columns], fill,
                                     state.margins.data(), state.first.data(), state.second.data(),
                                     gradient.data(), diagonal.data());
  state.tracker.add_passes(state.design.selected_fraction());
  const double losses = state.evaluate(state.margins);
  gradient[state.columns] = has_intercept ? static_cast<T>(state.sum_of(state.first)) : T{0};
  return losses;
}

template <class T>
double QuadraticModel<T>::penalty(double step_size) const {
  double sum = 0;
  for (std::int64_t j = 0; j <= state.columns; ++j) {
    const double weight = state.weights[j] + step_size * static_cast<double>(direction[j]);
    sum += ridge_of(j) * weight * weight;
  }
  return sum / 2;
}

template <class T>
double QuadraticModel<T>::multiply_hessian() {
  const double sum =
      state.design.curvature_multiply(search.data(), search[state.columns], state.second.data(),
                                      state.step_products.data(), curved.data());
  state.tracker.add_passes(state.design.selected_fraction());
  curved[state.columns] = has_intercept ? static_cast<T>(sum) : T{0};
  return over_vectors([&](std::int64_t begin, std::int64_t end) {
    double product = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      curved[j] = static_cast<T>(row_scale) * curved[j] + static_cast<T>(ridge_of(j)) * search[j];
      product += static_cast<double>(search[j]) * static_cast<double>(curved[j]);
    }
    return product;
  });
}

template <class T>
double QuadraticModel<T>::intercept_diagonal() const {
  return has_intercept ? intercept_ridge + state.sum_of(state.second) : 0;
}

template <class T>
double QuadraticModel<T>::find_direction(double forcing) {
  std::fill(direction.begin(), direction.end(), T{0});
  std::fill(state.moves.begin(), state.moves.end(), T{0});
  for (std::int64_t j = 0; j <= state.columns; ++j) residual[j] = -gradient[j];
  double length = preconditioner.apply(residual.data(), solved.data());
  search = solved;
  const double first_length = length;
  double gain = 0;  // of the quadratic model
  for (int step = 1; step <= kMaxSteps && length > 0; ++step) {
    const double curvature = multiply_hessian();
    if (!(curvature > 0)) break;
    const double step_size = length / curvature, step_gain = step_size * length / 2;
    gain += step_gain;
    step_direction(step_size, length);
    if (length <= forcing * forcing * first_length && step_gain * step <= kStall * gain) break;
  }
  return gain;
}

template <class T>
void QuadraticModel<T>::step_direction(double step_size, double& length) {
  const T step = static_cast<T>(step_size);
  state.design.for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) state.moves[r] += step * state.step_products[r];
  });
  over_vectors([&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      direction[j] += step * search[j];
      residual[j] -= step * curved[j];
    }
    return 0.0;
  });
  const double before = length;
  length = preconditioner.apply(residual.data(), solved.data());
  const T keep = static_cast<T>(length / before);
  over_vectors([&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) search[j] = solved[j] + keep * search[j];
    return 0.0;
  });
}

template struct QuadraticModel<float>;
template struct QuadraticModel<double>;

}  // namespace tutti::learn
