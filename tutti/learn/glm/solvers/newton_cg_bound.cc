#include <algorithm>
#include <limits>

#include "tutti/learn/glm/problem/conjugate.h"
#include "tutti/learn/glm/solvers/newton_cg_fit.h"

namespace tutti::learn {

// The dual value of s(t) = first + t * second * (moves + rest), for the largest t <= 1 that is
// allowed, where `rest` makes the sum of s zero if the intercept is free. The columns' sums of s
// need no pass but for a free intercept: of `first` they are the gradient less the penalty's part,
// of the whole step without `rest` they are -(residual + ridge * (weights + direction)).
template <class T>
double NewtonCg<T>::lower_bound() {
  if (!(ridge_ > 0)) return -std::numeric_limits<double>::infinity();
  const Loss loss = problem_.options.loss;
  double rest = 0;
  if (is_free_) {
    if (curvature_columns_.empty()) {
      curvature_columns_.resize(columns_);
      design_.transpose_multiply(second_.data(), curvature_columns_.data());
      tracker_.add_passes(0.5 * design_.share());
    }
    rest = static_cast<double>(residual_[columns_]) / sum_of(second_);
  }
  const auto move_of = [&](std::int64_t r) {
    return static_cast<double>(second_[r]) * (static_cast<double>(moves_[r]) + rest);
  };
  const auto weight_of = [&](std::int64_t r) {
    return problem_.weights.empty() ? 1.0 : static_cast<double>(problem_.weights[r]);
  };
  std::vector<double> most(design_.parts(), 1.0);
  design_.for_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r)
      most[part] = std::min(most[part], max_feasible_step(loss, first_[r], move_of(r),
                                                          problem_.labels[r], weight_of(r)));
  });
  double share = *std::min_element(most.begin(), most.end());
  if (design_.ranks() != nullptr)
    design_.ranks()->all_reduce({&share, 1, DType::kF64}, ReduceOp::kMin);
  const double value = design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t r = begin; r < end; ++r)
      sum += conjugate(loss, static_cast<double>(first_[r]) + share * move_of(r),
                       problem_.labels[r], weight_of(r));
    return sum;
  });
  return -value - squares_of_columns(share, rest) / 2;
}

template <class T>
double NewtonCg<T>::squares_of_columns(double share, double rest) {
  return over_vectors([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      const double ridge = ridge_of(j);
      if (ridge == 0) continue;
      const double now = static_cast<double>(gradient_[j]) - ridge * weights_[j];
      double then = -static_cast<double>(residual_[j]) -
                    ridge * (weights_[j] + static_cast<double>(direction_[j]));
      if (is_free_) then += rest * static_cast<double>(curvature_columns_[j]);
      const double column = (1 - share) * now + share * then;
      sum += column * column / ridge;
    }
    return sum;
  });
}

template double NewtonCg<float>::lower_bound();
template double NewtonCg<double>::lower_bound();

}  // namespace tutti::learn
