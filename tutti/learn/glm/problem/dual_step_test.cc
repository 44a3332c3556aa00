#include "tutti/learn/glm/problem/dual_step.h"

#include <gtest/gtest.h>

#include "tutti/learn/glm/problem/conjugate.h"

namespace tutti::learn {
namespace {

// The function that the step maximises: -conjugate(-a) - margin * change - lift * change^2 / 2.
double value(Loss loss, double a, double before, double margin, double label, double weight,
             double lift) {
  const double change = a - before;
  return -conjugate(loss, -a, label, weight) - margin * change - lift * change * change / 2;
}

TEST(DualStep, IsTheBest) {
  for (const Loss loss : {Loss::kSquared, Loss::kLogistic, Loss::kHinge, Loss::kSquaredHinge})
    for (const double label : {-1.0, 1.0})
      for (const double margin : {-40.0, -2.0, 0.3, 5.0})
        for (const double lift : {1e-4, 0.7, 300.0})
          for (const double fraction : {0.0, 0.3, 1.0}) {
            const double weight = 1.5, before = label * fraction * weight;
            const double a = dual_step(loss, before, margin, label, weight, lift);
            const double best = value(loss, a, before, margin, label, weight, lift);
            for (const double other : {a - 1e-3, a + 1e-3, before})
              EXPECT_GE(best, value(loss, other, before, margin, label, weight, lift) - 1e-7)
                  << name_of(loss) << " " << margin << " " << lift << " " << fraction;
          }
  EXPECT_EQ(dual_step(Loss::kHinge, 0, -3, 1, 0, 1), 0);
}

}  // namespace
}  // namespace tutti::learn
