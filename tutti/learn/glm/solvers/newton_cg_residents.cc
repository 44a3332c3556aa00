// A reading of a file that is larger than memory costs as much as many passes over the rows that
// stay. So the direction comes from the quadratic model with the true gradient and the Hessian of
// these rows alone, and one reading then gives all that is needed of it: its products with the
// rows, the true Hessian's product, hence the bound, and the gradient where the whole step leads.
#include "tutti/learn/glm/design/dense_design.h"
#include "tutti/learn/glm/solvers/newton_cg_fit.h"

namespace tutti::learn {
namespace {

constexpr double kResidentForcing = 0.1;
constexpr std::int64_t kResidentRowsPerColumn = 12;

}  // namespace

// Of the rows that are selected.
template <class T>
bool NewtonCg<T>::are_residents_enough() const {
  const double rows = design_.share() * static_cast<double>(design_.total_rows());
  return design_.is_streamed() && rows >= static_cast<double>(kResidentRowsPerColumn * columns_);
}

template <class T>
double NewtonCg<T>::find_direction_of_residents(double forcing) {
  design_.select_residents();
  // With y columns for each row, the Hessian of a sample is (1 - sqrt(y))^2 to (1 + sqrt(y))^2 of
  // the true one; this much steeper, a step overshoots as little as it falls short.
  const double rows = design_.share() * static_cast<double>(design_.total_rows());
  const double y = static_cast<double>(columns_) / rows;
  row_scale_ = (1 + y) / ((1 - y) * (1 - y)) / design_.share();
  const double gain = find_direction(forcing);
  row_scale_ = 1;
  return gain;
}

template <class T>
double NewtonCg<T>::find_direction_by_residents() {
  const double gain = find_direction_of_residents(kResidentForcing);
  design_.select(1);
  read_step();
  return gain;
}

template <class T>
void NewtonCg<T>::read_step() {
  const GlmOptions& options = problem_.options;
  next_gradient_.resize(columns_ + 1);
  if (is_free_) curvature_columns_.resize(columns_);
  const auto fill = [&](std::int64_t begin, std::int64_t end, T* first) {
    T margins[kBlockRows], second[kBlockRows];
    for (std::int64_t r = begin; r < end; ++r) margins[r - begin] = margins_[r] + moves_[r];
    loss_terms(options.loss, margins, problem_.labels.data() + begin, problem_.weights_at(begin),
               end - begin, first, second);
  };
  const double sum = static_cast<DenseDesign<T>&>(design_).step(
      direction_.data(), direction_[columns_], second_.data(), fill, moves_.data(), curved_.data(),
      next_gradient_.data(), is_free_ ? curvature_columns_.data() : nullptr);
  tracker_.add_passes(1);
  curved_[columns_] = has_intercept_ ? static_cast<T>(sum) : T{0};
  for (std::int64_t j = 0; j <= columns_; ++j)
    residual_[j] = -gradient_[j] - curved_[j] - static_cast<T>(ridge_of(j)) * direction_[j];
}

template bool NewtonCg<float>::are_residents_enough() const;
template bool NewtonCg<double>::are_residents_enough() const;
template double NewtonCg<float>::find_direction_of_residents(double);
template double NewtonCg<double>::find_direction_of_residents(double);
template double NewtonCg<float>::find_direction_by_residents();
template double NewtonCg<double>::find_direction_by_residents();

}  // namespace tutti::learn
