#include "tutti/core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tutti {
namespace {

// Generated training data and the order of samples depend on these values.
TEST(Random, ValuesOfASeedNeverChange) {
  Random random(7);
  EXPECT_EQ(random.next(), 7191089600892374487u);
  EXPECT_EQ(random.below(1000), 16u);
  EXPECT_EQ(random.uniform(), 0.90076068060688341);
  EXPECT_NEAR(random.gaussian(), -1.2638933287309149, 1e-14);
  EXPECT_NEAR(random.gaussian(), 0.38932951325592136, 1e-14);
  EXPECT_EQ(mixed_seed(3, 5), 11375518350925701523u);
}

TEST(Random, IsUniformAndGaussian) {
  Random random(5);
  double sum = 0, squares = 0;
  std::vector<int> counts(10);
  const int n = 20000;
  for (int i = 0; i < n; ++i) {
    ++counts[random.below(10)];
    const double x = random.gaussian();
    sum += x;
    squares += x * x;
  }
  for (int count : counts) EXPECT_NEAR(count, n / 10, 5 * std::sqrt(n / 10));
  EXPECT_NEAR(sum / n, 0, 0.03);
  EXPECT_NEAR(squares / n, 1, 0.05);
  EXPECT_NE(mixed_seed(1, 2), mixed_seed(2, 1));
}

}  // namespace
}  // namespace tutti
