#include "tutti/learn/glm/multinomial.h"

#include <memory>

#include "tutti/learn/glm/solvers/solve_multinomial.h"

namespace tutti::learn {

MultinomialModel fit_multinomial(const Matrix& features, std::span<const std::int32_t> classes,
                                 int count, std::span<const double> weights,
                                 const GlmOptions& options) {
  Threads threads(options.threads);
  check_multinomial({features.rows, features.columns}, classes, count, weights, options);
  check(features, threads);
  Shape{features.rows, features.columns}.over(options.ranks);
  const auto solve = [&]<class T>(const std::unique_ptr<DesignMatrix<T>>& design) {
    return solve_multinomial(*design, classes, count, weights, options);
  };
  return features.dtype == DType::kF32
             ? solve(DesignMatrix<float>::create(features, threads, options.ranks))
             : solve(DesignMatrix<double>::create(features, threads, options.ranks));
}

}  // namespace tutti::learn
