// The first reading of a file that is larger than memory, in parts.
//
// At its start the weights are w_0, those of the rows that stay in memory. Part j is looked at with
// weights w_j: its losses have the gradient g_j there. Then the weights go to where the quadratic
// model of all that was seen so far is least, by the preconditioner, which costs no pass: so later
// parts are looked at nearer to the end. Of part j with its share n_j of the rows that model has
//   g_j (w - w_j) + n_j (w - w_j)^T H (w - w_j) / 2,
// H being the Hessian of all rows as the residents tell it. After the last part the residents are
// looked at once more where the weights are, and one step with their Hessian goes on from there.
//
// What is left to gain comes from H not being that of each part, times how far w_j was from the
// end. Looked at with w_0 alone, 400,000 x 2000 of `tutti bench glm` would have four times as much
// left, and a bound twenty times as far.
#include "tutti/learn/glm/solvers/newton_cg_fit.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kReadingParts = 16;
// Mean loss of a part beside that of the first: above this the weights have gone astray.
constexpr double kMostLoss = 1.1;
constexpr double kStepForcing = 0.02;  // less would be lost beside what is left anyway

// Of the rows seen so far.
struct Seen {
  double share = 0;
  std::vector<double> slopes;  // gradients of their losses
  std::vector<double> places;  // weights that they were looked at with, times their shares

  explicit Seen(std::size_t size) : slopes(size), places(size) {}
  template <class T>
  void add(double more, const std::vector<T>& gradient, const std::vector<double>& weights) {
    share += more;
    for (std::size_t j = 0; j < slopes.size(); ++j) {
      slopes[j] += static_cast<double>(gradient[j]);
      places[j] += more * weights[j];
    }
  }
};

}  // namespace

// The Hessian of all rows, as far as the residents, which were looked at last, can tell.
template <class T>
void NewtonCg<T>::precondition_by_residents() {
  const double share = design_.share();
  for (T& value : diagonal_) value = static_cast<T>(static_cast<double>(value) / share);
  const double intercept = has_intercept_ ? intercept_ridge_ + sum_of(second_) / share : 0;
  preconditioner_.set_diagonal(diagonal_.data(), intercept, ridge_);
}

template <class T>
void NewtonCg<T>::read_in_parts() {
  set_ridge(1);
  design_.select_residents();
  look();
  precondition_by_residents();
  Seen seen(weights_.size()), others(weights_.size());
  seen.add(design_.share(), gradient_, weights_);
  const std::vector<double> start = weights_;
  double first_loss = -1;
  bool is_astray = false;
  for (std::int64_t part = 0; part < kReadingParts; ++part) {
    design_.select_others(part, kReadingParts);
    if (design_.share() == 0) continue;
    const double loss = look() / design_.share();
    if (first_loss < 0) first_loss = loss;
    is_astray |= !(loss <= kMostLoss * first_loss);
    seen.add(design_.share(), gradient_, weights_);
    others.add(design_.share(), gradient_, weights_);
    for (std::int64_t j = 0; j <= columns_; ++j)
      residual_[j] = static_cast<T>((seen.slopes[j] + ridge_of(j) * seen.places[j]) / seen.share);
    preconditioner_.apply(residual_.data(), solved_.data());
    for (std::int64_t j = 0; j <= columns_; ++j)
      weights_[j] = seen.places[j] / seen.share - static_cast<double>(solved_[j]);
    if (is_astray) weights_ = start;
  }
  std::vector<T> way(weights_.size());
  for (std::int64_t j = 0; j <= columns_; ++j)
    way[j] = static_cast<T>(others.share * weights_[j] - others.places[j]);
  step_from_parts(others.slopes, way);
}

// `slopes` are those of the other rows, where they were looked at; `way` leads from there here.
template <class T>
void NewtonCg<T>::step_from_parts(const std::vector<double>& slopes, const std::vector<T>& way) {
  design_.select_residents();
  look();
  precondition_by_residents();
  const double sum = design_.curvature_multiply(way.data(), way[columns_], second_.data(),
                                                step_products_.data(), curved_.data());
  tracker_.add_passes(design_.share());
  curved_[columns_] = has_intercept_ ? static_cast<T>(sum) : T{0};
  for (std::int64_t j = 0; j <= columns_; ++j)
    gradient_[j] += static_cast<T>(slopes[j] + static_cast<double>(curved_[j]) / design_.share() +
                                   ridge_of(j) * weights_[j]);
  find_direction_of_residents(kStepForcing);
  for (std::int64_t j = 0; j <= columns_; ++j) weights_[j] += static_cast<double>(direction_[j]);
  design_.select(1);
}

template void NewtonCg<float>::read_in_parts();
template void NewtonCg<double>::read_in_parts();

}  // namespace tutti::learn
