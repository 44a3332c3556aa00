#include "tutti/learn/glm/problem/cg_state.h"

#include <cmath>

namespace tutti::learn {

template <class T>
CgState<T>::CgState(Problem<T>& problem_, Tracker& tracker_, std::int64_t columns_)
    : problem(problem_),
      tracker(tracker_),
      design(problem_.design),
      columns(columns_),
      weights(columns + 1) {
  for (auto* rows : {&margins, &trial, &moves, &step_products, &first, &second})
    rows->resize(design.rows());
}

template <class T>
bool CgState<T>::take_start() {
  const GlmOptions& options = problem.options;
  if (options.start_coefficients.empty()) return false;
  for (std::int64_t j = 0; j < columns; ++j)
    weights[j] = options.start_coefficients[design.original(j)];
  weights[columns] = options.fit_intercept ? options.start_intercept : 0;
  return true;
}

template <class T>
double CgState<T>::evaluate(const std::vector<T>& at) {
  return design.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    return loss_terms(problem.options.loss, at.data() + begin, problem.labels.data() + begin,
                      problem.weights_at(begin), end - begin, first.data() + begin,
                      second.data() + begin);
  });
}

template <class T>
double CgState<T>::sum_of(const std::vector<T>& rows) const {
  return design.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t r = begin; r < end; ++r) sum += static_cast<double>(rows[r]);
    return sum;
  });
}

template <class T>
void CgState<T>::find_intercept(double penalty, int most_steps, double resolution) {
  for (int step = 0; step < most_steps; ++step) {
    const double curvature = sum_of(second), derivative = sum_of(first);
    if (!(curvature > 0) || derivative * derivative <= resolution * curvature * std::abs(objective))
      return;
    const double move = -derivative / curvature;
    design.for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) trial[r] = margins[r] + static_cast<T>(move);
    });
    const double value = evaluate(trial) + penalty;
    if (!(value < objective)) {
      evaluate(margins);
      return;
    }
    margins.swap(trial);
    weights[columns] += move;
    objective = value;
  }
}

template struct CgState<float>;
template struct CgState<double>;

}  // namespace tutti::learn
