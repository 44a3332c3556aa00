#include "tutti/learn/glm/multinomial.h"

#include <memory>

#include "tutti/learn/glm/solvers/solve_multinomial.h"

namespace tutti::learn {

MultinomialModel fit_multinomial(const Matrix& features, std::span<const std::int32_t> classes,
                                 int count, std::span<const double> weights,
                                 const GlmOptions& options) {
  Threads threads(options.threads);
  const Shape shape{.rows = features.rows, .columns = features.columns};
  check_multinomial(shape, classes, count, weights, options);
  check(features, threads);
  shape.over(options.ranks);
  const auto solve = [&]<class T>(const std::unique_ptr<DesignMatrix<T>>& design) {
    return solve_multinomial(*design, classes, count, weights, options);
  };
  return features.dtype == DType::kF32
             ? solve(DesignMatrix<float>::create(features, threads, options.ranks))
             : solve(DesignMatrix<double>::create(features, threads, options.ranks));
}

}  // namespace tutti::learn
