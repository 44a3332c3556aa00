#include "tutti/learn/glm/problem/cg_state.h"

#include <cmath>

namespace tutti::learn {

template <class T>
CgState<T>::CgState(Problem<T>& problem, Tracker& tracker)
    : problem_(problem),
      tracker_(tracker),
      design_(problem.design),
      columns_(design_.columns()),
      weights_(columns_ + 1) {
  for (auto* rows : {&margins_, &trial_, &moves_, &step_products_, &first_, &second_})
    rows->resize(design_.rows());
}

template <class T>
bool CgState<T>::take_start() {
  const GlmOptions& options = problem_.options;
  if (options.start_coefficients.empty()) return false;
  for (std::int64_t j = 0; j < columns_; ++j)
    weights_[j] = options.start_coefficients[design_.original(j)];
  weights_[columns_] = options.fit_intercept ? options.start_intercept : 0;
  return true;
}

template <class T>
double CgState<T>::evaluate(const std::vector<T>& margins) {
  return design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    return loss_terms(problem_.options.loss, margins.data() + begin, problem_.labels.data() + begin,
                      problem_.weights_at(begin), end - begin, first_.data() + begin,
                      second_.data() + begin);
  });
}

template <class T>
double CgState<T>::sum_of(const std::vector<T>& rows) const {
  return design_.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t r = begin; r < end; ++r) sum += static_cast<double>(rows[r]);
    return sum;
  });
}

template <class T>
void CgState<T>::find_intercept(double penalty) {
  for (int step = 0; step < 20; ++step) {
    const double curvature = sum_of(second_), slope = sum_of(first_);
    if (!(curvature > 0) || slope * slope <= 1e-16 * curvature * std::abs(objective_)) return;
    const double move = -slope / curvature;
    design_.for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) trial_[r] = margins_[r] + static_cast<T>(move);
    });
    const double value = evaluate(trial_) + penalty;
    if (!(value < objective_)) {
      evaluate(margins_);
      return;
    }
    margins_.swap(trial_);
    weights_[columns_] += move;
    objective_ = value;
  }
}

template class CgState<float>;
template class CgState<double>;

}  // namespace tutti::learn
