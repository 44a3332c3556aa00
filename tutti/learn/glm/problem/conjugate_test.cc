#include "tutti/learn/glm/problem/conjugate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tutti::learn {
namespace {

constexpr Loss kLosses[] = {Loss::kSquared,      Loss::kLogistic, Loss::kHinge,
                            Loss::kSquaredHinge, Loss::kPoisson,  Loss::kGamma};

double value(Loss loss, double margin, double label, double weight, double* derivative = nullptr) {
  double first = 0, second = 0;
  const double sum = loss_terms(loss, &margin, &label, &weight, 1, &first, &second);
  if (derivative != nullptr) *derivative = first;
  return sum;
}

// Fenchel-Young inequality, with equality at the derivative.
TEST(Conjugate, MatchesItsLoss) {
  for (const Loss loss : kLosses)
    for (const double label : {-1.0, 1.0, 2.5}) {
      if (is_classification(loss) ? std::abs(label) != 1 : label < 0) continue;
      for (const double weight : {0.5, 1.0, 3.0})
        for (double margin = -3; margin <= 3; margin += 0.37) {
          double s = 0;
          const double at = value(loss, margin, label, weight, &s);
          EXPECT_NEAR(conjugate(loss, s, label, weight), s * margin - at, 1e-9) << name_of(loss);
          for (const double other : {-1.5, 0.2, 2.0})
            EXPECT_GE(conjugate(loss, s, label, weight) + value(loss, other, label, weight),
                      s * other - 1e-9);
        }
    }
}

TEST(Conjugate, IsInfiniteOutside) {
  EXPECT_EQ(conjugate(Loss::kLogistic, 0.5, 1, 1), std::numeric_limits<double>::infinity());
  EXPECT_EQ(conjugate(Loss::kPoisson, -3, 2, 1), std::numeric_limits<double>::infinity());
  EXPECT_EQ(conjugate(Loss::kSquared, 1, 2, 0), std::numeric_limits<double>::infinity());
}

TEST(Conjugate, FeasibleStepStaysInside) {
  for (const Loss loss : kLosses)
    for (const double move : {-5.0, -0.1, 0.0, 0.1, 5.0}) {
      double s = 0;
      value(loss, 0.3, 1, 2, &s);
      const double step_size = max_feasible_step(loss, s, move, 1, 2);
      EXPECT_GE(step_size, 0);
      EXPECT_LE(step_size, 1);
      EXPECT_TRUE(std::isfinite(conjugate(loss, s + step_size * move, 1, 2))) << name_of(loss);
    }
  EXPECT_EQ(max_feasible_step(Loss::kSquared, 0, 100, 1, 1), 1);
}

TEST(Loss, DerivativesMatchFiniteDifferences) {
  for (const Loss loss : kLosses)
    for (const double margin : {-1.3, 0.4, 0.9}) {
      double first = 0, second = 0, label = 1, weight = 2, low = margin - 1e-5,
             high = margin + 1e-5, ignored = 0, d_low = 0, d_high = 0;
      loss_terms(loss, &margin, &label, &weight, 1, &first, &second);
      const double below = loss_terms(loss, &low, &label, &weight, 1, &d_low, &ignored);
      const double above = loss_terms(loss, &high, &label, &weight, 1, &d_high, &ignored);
      EXPECT_NEAR(first, (above - below) / 2e-5, 1e-4) << name_of(loss);
      EXPECT_NEAR(second, (d_high - d_low) / 2e-5, 1e-4) << name_of(loss);
    }
}

TEST(Loss, NamesRoundTrip) {
  for (const Loss loss : kLosses) EXPECT_EQ(parse_loss(name_of(loss)), loss);
  EXPECT_ANY_THROW(parse_loss("none"));
}

}  // namespace
}  // namespace tutti::learn
