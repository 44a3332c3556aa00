#include "tutti/learn/glm/problem/l1_bound.h"

#include <cmath>

#include "tutti/learn/glm/problem/conjugate.h"

namespace tutti::learn {

template <class T, class Derivative>
double l1_lower_bound(const Problem<T>& problem, const Derivative* first, const double* columns,
                      std::int64_t count, double* scale) {
  const GlmOptions& options = problem.options;
  double largest = 0;
  for (std::int64_t j = 0; j < count; ++j) largest = std::max(largest, std::abs(columns[j]));
  const double factor = options.l2 > 0 || largest <= options.l1 ? 1 : options.l1 / largest;
  if (scale != nullptr) *scale = factor;
  double value = -problem.design.sum_blocks([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    if (options.loss == Loss::kSquared && problem.weights.empty()) {  // without a call per row
      for (std::int64_t r = begin; r < end; ++r) {
        const double s = factor * static_cast<double>(first[r]);
        sum += s * (s / 2 + static_cast<double>(problem.labels[r]));
      }
      return sum;
    }
    for (std::int64_t r = begin; r < end; ++r)
      sum += conjugate(options.loss, factor * static_cast<double>(first[r]), problem.labels[r],
                       problem.weights.empty() ? 1.0 : static_cast<double>(problem.weights[r]));
    return sum;
  });
  if (options.l2 > 0)
    for (std::int64_t j = 0; j < count; ++j) {
      const double over = std::max(0.0, std::abs(columns[j]) - options.l1);
      value -= over * over / (2 * options.l2);
    }
  return value;
}

template double l1_lower_bound(const Problem<float>&, const float*, const double*, std::int64_t,
                               double*);
template double l1_lower_bound(const Problem<float>&, const double*, const double*, std::int64_t,
                               double*);
template double l1_lower_bound(const Problem<double>&, const double*, const double*, std::int64_t,
                               double*);

}  // namespace tutti::learn
