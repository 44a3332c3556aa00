#include "tutti/learn/glm/multinomial.h"

#include <gtest/gtest.h>

#include "tutti/core/error.h"
#include "tutti/learn/glm/test_problems.h"

namespace tutti::learn {
namespace {

std::vector<std::int32_t> classes_of(const Small& small) {
  std::vector<std::int32_t> classes;
  for (std::int64_t r = 0; r < small.rows; ++r)
    classes.push_back(small.labels[r] < -0.3 ? 0 : small.labels[r] < 0.6 ? 1 : 2);
  return classes;
}

TEST(Multinomial, EndsWhereTheGradientIsZero) {
  const Small small = make_small(500, 6, Loss::kSquared, 31);
  const std::vector<std::int32_t> classes = classes_of(small);
  GlmOptions options;
  options.tolerance = 1e-14;
  options.l2 = 0.5;
  const MultinomialModel model = fit_multinomial(small.matrix(), classes, 3, {}, options);
  EXPECT_TRUE(model.has_converged);
  for (int k = 0; k < 3; ++k) {
    std::vector<double> gradient(7);
    for (std::int64_t r = 0; r < small.rows; ++r) {
      double e[3], sum = 0;
      for (int c = 0; c < 3; ++c) {
        e[c] = model.intercepts[c];
        for (int j = 0; j < 6; ++j) e[c] += small.values[r * 6 + j] * model.coefficients[c * 6 + j];
        sum += e[c] = std::exp(e[c]);
      }
      const double d = e[k] / sum - (classes[r] == k);
      for (int j = 0; j < 6; ++j) gradient[j] += d * small.values[r * 6 + j];
      gradient[6] += d;
    }
    for (int j = 0; j < 6; ++j)
      EXPECT_NEAR(gradient[j] + 0.5 * model.coefficients[k * 6 + j], 0, 1e-4);
    EXPECT_NEAR(gradient[6], 0, 1e-4);
  }
}

TEST(Multinomial, TwoClassesAreTheBinaryModelWithHalfThePenalty) {
  const Small small = make_small(400, 5, Loss::kLogistic, 32);
  std::vector<std::int32_t> classes;
  for (const double label : small.labels) classes.push_back(label > 0);
  GlmOptions options;
  options.tolerance = 1e-14;
  const MultinomialModel two = fit_multinomial(small.matrix(), classes, 2, {}, options);
  options.l2 = 0.5;
  const GlmModel one = small.fit(options);
  for (int j = 0; j < 5; ++j)
    EXPECT_NEAR(two.coefficients[5 + j] - two.coefficients[j], one.coefficients[j], 1e-5);
}

TEST(Multinomial, RefusesWrongClasses) {
  const Small small = make_small(10, 2, Loss::kSquared, 33);
  std::vector<std::int32_t> classes(10, 1);
  classes[4] = 3;
  EXPECT_THROW(fit_multinomial(small.matrix(), classes, 3, {}, {}), ConfigError);
  EXPECT_THROW(fit_multinomial(small.matrix(), {}, 3, {}, {}), ConfigError);
}

}  // namespace
}  // namespace tutti::learn
