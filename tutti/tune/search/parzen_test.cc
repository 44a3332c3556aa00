#include "tutti/tune/search/parzen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tutti/tune/search/mixture_kernel.h"

namespace tutti::tune {
namespace {

Space space_of(const std::vector<std::string>& parameters) {
  Space space;
  for (const std::string& parameter : parameters) space.push_back(parse_parameter(parameter));
  return space;
}

TEST(MixtureKernel, MatchesTheFormulaForAnyCount) {
  for (std::size_t count = 0; count < 40; ++count) {
    std::vector<float> positions(count), inverse_widths(count), logs(count);
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
      positions[k] = static_cast<float>(k) / 40;
      inverse_widths[k] = 1 + static_cast<float>(k % 3);
      logs[k] = -static_cast<float>(k % 5);
      const double distance = (0.3 - positions[k]) * inverse_widths[k];
      sum += std::exp(logs[k] - 0.5 * distance * distance);
    }
    subtract_half_squares(positions.data(), inverse_widths.data(), 0.3f, logs.data(), count);
    const double result = log_sum_exp(logs.data(), count);
    if (count == 0) {
      EXPECT_EQ(result, -INFINITY);
    } else {
      EXPECT_NEAR(result, std::log(sum), 1e-5) << count;
    }
  }
}

// The density integrates to 1 over the unit interval, for one parameter and for several.
TEST(Parzen, DensityIntegratesToOne) {
  for (const std::size_t dimensions : {1u, 2u}) {
    const Space space(dimensions, parse_parameter("x=0.0..1.0"));
    const std::vector<Observations> observations(dimensions, {0.02f, 0.5f, 0.55f, 0.9f});
    const ParzenEstimator estimator(space, observations, {1, 2, 1, 0.5});
    constexpr int kCells = 200;
    double sum = 0;
    for (int i = 0; i < kCells; ++i) {
      std::vector<Point> points;
      for (int j = 0; j < (dimensions == 1 ? 1 : kCells); ++j) {
        points.push_back(
            {static_cast<float>((i + 0.5) / kCells), static_cast<float>((j + 0.5) / kCells)});
        points.back().resize(dimensions);
      }
      for (const double density : estimator.log_densities(points)) sum += std::exp(density);
    }
    EXPECT_NEAR(sum / std::pow(kCells, dimensions), 1, 2e-3) << dimensions;
  }
}

TEST(Parzen, ProbabilitiesOfAGridAndOfChoicesSumToOne) {
  const Space space = space_of({"n=log:1..20", "c=a,b,c"});
  const Distribution& grid = space[0].distribution;
  const auto two = static_cast<float>(grid.position_of(2)),
             twelve = static_cast<float>(grid.position_of(12));
  const ParzenEstimator estimator(space, {{two, twelve, twelve}, {2, 0, 2}}, {1, 1, 1});
  double sum = 0, probability_of_c = 0;
  for (int n = 1; n <= 20; ++n) {
    for (int choice = 0; choice < 3; ++choice) {
      const auto position = static_cast<float>(grid.position_of(n));
      const double probability =
          std::exp(estimator.log_densities({{position, static_cast<float>(choice)}})[0]);
      sum += probability;
      if (choice == 2) probability_of_c += probability;
    }
  }
  EXPECT_NEAR(sum, 1, 1e-4);
  EXPECT_GT(probability_of_c, 0.4) << "two of three observations";
}

TEST(Parzen, SamplesFollowTheDensity) {
  const Space space = space_of({"x=0.0..1.0", "n=1..4", "c=a,b"});
  const ParzenEstimator estimator(space, {{0.2f, 0.25f}, {0.125f, 0.125f}, {1, 1}}, {1, 1});
  Random random(1);
  constexpr int kSamples = 20000;
  double mean = 0;
  int ones = 0, second_choices = 0;
  for (int i = 0; i < kSamples; ++i) {
    const Point point = estimator.sample(random);
    EXPECT_GE(point[0], 0);
    EXPECT_LE(point[0], 1);
    mean += point[0] / kSamples;
    ones += space[1].distribution.value_at(point[1]) == 1;
    second_choices += point[2] == 1;
  }
  double expected_mean = 0, probability_of_one = 0, probability_of_second = 0;
  for (int i = 0; i < 200; ++i) {
    for (const float n : {0.125f, 0.375f, 0.625f, 0.875f}) {
      for (const float choice : {0.0f, 1.0f}) {
        const auto x = static_cast<float>((i + 0.5) / 200);
        const double density = std::exp(estimator.log_densities({{x, n, choice}})[0]) / 200;
        expected_mean += density * x;
        if (n == 0.125f) probability_of_one += density;
        if (choice == 1) probability_of_second += density;
      }
    }
  }
  EXPECT_NEAR(mean, expected_mean, 0.01);
  EXPECT_NEAR(ones, kSamples * probability_of_one, kSamples * 0.015);
  EXPECT_NEAR(second_choices, kSamples * probability_of_second, kSamples * 0.015);
}

// The table of normalisations for many observations must not change the result.
TEST(Parzen, ManyObservationsAreNormalizedAsFewOnes) {
  const Space space = space_of({"x=0.0..1.0", "y=0.0..1.0"});
  std::vector<Observations> observations(2);
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    for (Observations& observed : observations)
      observed.push_back(static_cast<float>(random.uniform()));
  }
  const ParzenEstimator estimator(space, observations, std::vector<double>(2000, 1));
  double sum = 0;
  constexpr int kCells = 60;
  std::vector<Point> points;
  for (int i = 0; i < kCells * kCells; ++i) {
    points.push_back({static_cast<float>((i % kCells + 0.5) / kCells),
                      static_cast<float>((i / kCells + 0.5) / kCells)});
  }
  for (const double density : estimator.log_densities(points)) sum += std::exp(density);
  EXPECT_NEAR(sum / (kCells * kCells), 1, 5e-3);
}

}  // namespace
}  // namespace tutti::tune
