#include "tutti/learn/glm/solvers/interior_point.h"

#include <cmath>

#include "tutti/learn/glm/linalg/cholesky.h"

namespace tutti::learn {
namespace {

constexpr double kStepToBoundary = 0.995;  // fraction of the step to the nearest bound
constexpr double kShortest = 1e-9;         // shorter steps end the fit

// Four positive numbers per row: dual variable, its distance to the weight of the row, slack and excess.
struct Row {
  double dual = 0, rest = 0, slack = 0, excess = 0;
  double products() const { return dual * slack + rest * excess; }
};

template <class T>
class InteriorPoint {
 public:
  InteriorPoint(Problem<T>& problem, Tracker& tracker)
      : problem_(problem),
        tracker_(tracker),
        design_(problem.design),
        columns_(design_.columns()),
        rows_(design_.rows()),
        weights_(columns_ + 1),
        duals_at_columns_(columns_ + 1),
        narrow_(columns_ + 1) {
    for (auto* values : {&margins_, &moves_, &factors_, &curvature_})
      values->resize(design_.rows());
    const GlmOptions& options = problem.options;
    ridges_.assign(columns_ + 1, options.l2);
    const double value = options.intercept_value;
    ridges_[columns_] = options.penalise_intercept ? options.l2 / (value * value) : 0;
  }

  Solution run();

 private:
  void start();
  void measure();
  std::vector<double> find_direction();
  double longest_step();
  void go(double step_size, const std::vector<double>& direction);
  double weight_of(std::int64_t r) const {
    return problem_.weights.empty() ? 1 : static_cast<double>(problem_.weights[r]);
  }
  double product(std::int64_t r) const {  // label * margin
    return static_cast<double>(problem_.labels[r]) * static_cast<double>(margins_[r]);
  }
  Row change_of(std::int64_t r) const;
  void multiply(const std::vector<double>& vector, std::vector<T>& products);
  std::vector<double> columns_of(const std::vector<T>& factors);
  bool has_intercept() const { return problem_.options.fit_intercept; }
  template <class OfRow>
  double sum(const OfRow& of_row) const;

  Problem<T>& problem_;
  Tracker& tracker_;
  DesignMatrix<T>& design_;
  std::int64_t columns_;
  std::vector<Row> rows_;
  std::vector<double> weights_, ridges_;  // the intercept last
  std::vector<double> duals_at_columns_;  // sum over rows of dual * label * row
  std::vector<T> margins_, moves_, factors_, curvature_, narrow_;
  double target_ = 0;  // barrier parameter: target of all complementarity products
  double objective_ = 0, gap_ = 0;
};

template <class T>
template <class OfRow>
double InteriorPoint<T>::sum(const OfRow& of_row) const {
  return design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    double total = 0;
    for (std::int64_t r = begin; r < end; ++r) total += of_row(r);
    return total;
  });
}

template <class T>
void InteriorPoint<T>::multiply(const std::vector<double>& vector, std::vector<T>& products) {
  std::copy(vector.begin(), vector.end(), narrow_.begin());
  design_.multiply(narrow_.data(), narrow_[columns_], products.data());
  tracker_.add_passes(0.5);
}

template <class T>
std::vector<double> InteriorPoint<T>::columns_of(const std::vector<T>& factors) {
  design_.transpose_multiply(factors.data(), narrow_.data());
  tracker_.add_passes(0.5);
  std::vector<double> columns(narrow_.begin(), narrow_.end());
  columns[columns_] =
      has_intercept() ? sum([&](std::int64_t r) { return static_cast<double>(factors[r]); }) : 0;
  return columns;
}

template <class T>
void InteriorPoint<T>::start() {
  const GlmOptions& options = problem_.options;
  if (!options.start_coefficients.empty()) {
    std::copy(options.start_coefficients.begin(), options.start_coefficients.end(),
              weights_.begin());
    weights_[columns_] = has_intercept() ? options.start_intercept : 0;
  }
  multiply(weights_, margins_);
  design_.for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const double half = weight_of(r) / 2, excess = std::max(0.0, 1 - product(r)) + 1;
      rows_[r] = {half, half, product(r) - 1 + excess, excess};
    }
  });
}

// Computes objective and duality gap exactly, from recomputed sums instead of those updated by the steps.
template <class T>
void InteriorPoint<T>::measure() {
  multiply(weights_, margins_);
  for (std::size_t r = 0; r < rows_.size(); ++r)
    factors_[r] = static_cast<T>(rows_[r].dual * static_cast<double>(problem_.labels[r]));
  duals_at_columns_ = columns_of(factors_);
  objective_ = sum([&](std::int64_t r) { return weight_of(r) * std::max(0.0, 1 - product(r)); });
  double value = sum([&](std::int64_t r) { return rows_[r].dual; });
  for (std::int64_t j = 0; j <= columns_; ++j) {
    objective_ += ridges_[j] / 2 * weights_[j] * weights_[j];
    value -= ridges_[j] > 0 ? duals_at_columns_[j] * duals_at_columns_[j] / (2 * ridges_[j])
                            : std::abs(duals_at_columns_[j] * weights_[j]);
  }
  gap_ = std::max(0.0, objective_ - value);
}

// Returns the change of the numbers of a row for a change of its margin by moves_[r].
template <class T>
Row InteriorPoint<T>::change_of(std::int64_t r) const {
  const Row& row = rows_[r];
  const double move = static_cast<double>(problem_.labels[r]) * static_cast<double>(moves_[r]);
  const double pull = target_ / row.dual - target_ / row.rest + 1 - product(r);
  const double dual = static_cast<double>(curvature_[r]) * (pull - move);
  return {dual, -dual, target_ / row.dual - row.slack - row.slack / row.dual * dual,
          target_ / row.rest - row.excess + row.excess / row.rest * dual};
}

template <class T>
std::vector<double> InteriorPoint<T>::find_direction() {
  design_.for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const Row& row = rows_[r];
      const bool counts = weight_of(r) > 0;
      curvature_[r] =
          counts ? static_cast<T>(1 / (row.slack / row.dual + row.excess / row.rest)) : T{0};
      const double pull = counts ? target_ / row.dual - target_ / row.rest + 1 - product(r) : 0;
      factors_[r] = static_cast<T>(static_cast<double>(problem_.labels[r]) *
                                   static_cast<double>(curvature_[r]) * pull);
    }
  });
  std::vector<double> direction = columns_of(factors_), gram;
  const std::int64_t size = columns_ + 1;
  design_.block_gram(curvature_.data(), columns_, 1, gram);
  tracker_.add_passes(0.5);
  for (std::int64_t j = 0; j < size; ++j) {
    direction[j] += duals_at_columns_[j] - ridges_[j] * weights_[j];
    gram[j * size + j] += ridges_[j];
    if (!has_intercept()) gram[j * size + columns_] = gram[columns_ * size + j] = 0;
  }
  if (!has_intercept()) direction[columns_] = 0;
  Cholesky(std::move(gram), size, design_.threads()).solve(direction.data());
  return direction;
}

template <class T>
double InteriorPoint<T>::longest_step() {
  std::vector<double> most(design_.parts(), 1.0);
  design_.for_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      if (!(weight_of(r) > 0)) continue;
      const Row &row = rows_[r], change = change_of(r);
      const auto limit = [&](double number, double by) {
        if (by < 0) most[part] = std::min(most[part], -kStepToBoundary * number / by);
      };
      limit(row.dual, change.dual);
      limit(row.rest, change.rest);
      limit(row.slack, change.slack);
      limit(row.excess, change.excess);
    }
  });
  double step_size = *std::min_element(most.begin(), most.end());
  if (design_.ranks() != nullptr)
    design_.ranks()->all_reduce({&step_size, 1, DType::kF64}, ReduceOp::kMin);
  return step_size;
}

template <class T>
void InteriorPoint<T>::go(double step_size, const std::vector<double>& direction) {
  design_.for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      if (!(weight_of(r) > 0)) continue;
      const Row change = change_of(r);
      Row& row = rows_[r];
      row = {row.dual + step_size * change.dual, row.rest + step_size * change.rest,
             row.slack + step_size * change.slack, row.excess + step_size * change.excess};
    }
  });
  for (std::int64_t j = 0; j <= columns_; ++j) weights_[j] += step_size * direction[j];
}

template <class T>
Solution InteriorPoint<T>::run() {
  start();
  measure();
  tracker_.set_scale(objective_);
  const double products = 2 * sum([&](std::int64_t r) { return weight_of(r) > 0 ? 1.0 : 0.0; });
  double towards_zero = 0.1;
  for (int iteration = 0; iteration < problem_.options.max_iterations; ++iteration) {
    target_ = towards_zero * sum([&](std::int64_t r) { return rows_[r].products(); }) / products;
    const std::vector<double> direction = find_direction();
    multiply(direction, moves_);
    const double step_size = longest_step();
    if (!(step_size > kShortest)) break;
    go(step_size, direction);
    measure();
    if (!tracker_.report(objective_, gap_) || tracker_.is_within_tolerance(objective_, gap_)) break;
    towards_zero = step_size > 0.9 ? 0.05 : step_size > 0.5 ? 0.2 : 0.6;
  }
  return tracker_.found(weights_, objective_, gap_);
}

}  // namespace

template <class T>
Solution solve_interior_point(Problem<T>& problem, Tracker& tracker) {
  return InteriorPoint<T>(problem, tracker).run();
}

template Solution solve_interior_point(Problem<float>&, Tracker&);
template Solution solve_interior_point(Problem<double>&, Tracker&);

}  // namespace tutti::learn
