#include "tutti/learn/glm/multinomial.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tutti/comm/transport/thread/thread_world.h"
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

// Checks the optimality conditions with an l1 penalty, up to `error`: the derivative is -l1 times the sign of a nonzero
// weight, at most l1 in magnitude for a zero weight, and 0 for an intercept. Returns the objective.
double check_optimum(const Small& small, const std::vector<std::int32_t>& classes, int count,
                     const MultinomialModel& model, const GlmOptions& options, double error) {
  const std::int64_t columns = small.columns;
  std::vector<double> gradient(count * (columns + 1));
  double objective = 0;
  for (std::int64_t r = 0; r < small.rows; ++r) {
    const double weight = small.weights.empty() ? 1 : small.weights[r];
    std::vector<double> e(count);
    double sum = 0;
    for (int k = 0; k < count; ++k) {
      e[k] = model.intercepts[k];
      for (std::int64_t j = 0; j < columns; ++j)
        e[k] += small.values[r * columns + j] * model.coefficients[k * columns + j];
      sum += e[k] = std::exp(e[k]);
    }
    objective -= weight * std::log(e[classes[r]] / sum);
    for (int k = 0; k < count; ++k) {
      const double d = weight * (e[k] / sum - (classes[r] == k));
      for (std::int64_t j = 0; j < columns; ++j)
        gradient[k * (columns + 1) + j] += d * small.values[r * columns + j];
      gradient[k * (columns + 1) + columns] += d;
    }
  }
  for (int k = 0; k < count; ++k) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const double w = model.coefficients[k * columns + j];
      const double derivative = gradient[k * (columns + 1) + j] + options.l2 * w;
      objective += options.l1 * std::abs(w) + options.l2 / 2 * w * w;
      if (w == 0) {
        EXPECT_LE(std::abs(derivative), options.l1 + error) << k << " " << j;
      } else {
        EXPECT_NEAR(derivative, w > 0 ? -options.l1 : options.l1, error) << k << " " << j;
      }
    }
    EXPECT_NEAR(options.fit_intercept ? gradient[k * (columns + 1) + columns] : 0, 0, error);
  }
  return objective;
}

// Classes of about equal size from quantiles of the labels.
std::vector<std::int32_t> quantile_classes(const Small& small, int count) {
  std::vector<double> sorted = small.labels;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int32_t> classes;
  for (const double label : small.labels) {
    const auto position = std::lower_bound(sorted.begin(), sorted.end(), label) - sorted.begin();
    classes.push_back(static_cast<std::int32_t>(position * count / small.rows));
  }
  return classes;
}

TEST(Multinomial, L1ConvergesAndTheGapIsABound) {
  for (const int count : {2, 3, 4, 7})
    for (const double l1 : {0.3, 5.0, 1e4})
      for (const double l2 : {0.0, 0.7})
        for (const bool has_weights : {false, true}) {
          Small small = make_small(300, 12, Loss::kSquared, 34 + count, count == 4 ? 0.3 : 1);
          if (has_weights)
            for (std::int64_t r = 0; r < small.rows; ++r)
              small.weights.push_back(static_cast<double>(r % 4) / 2);
          const auto classes = quantile_classes(small, count);
          const bool is_sparse = count == 4;
          const Matrix matrix =
              is_sparse ? to_storage(small.matrix(), Storage::kCsr) : small.matrix();
          GlmOptions options;
          options.l1 = l1;
          options.l2 = l2;
          options.tolerance = 1e-3;
          options.fit_intercept = count != 7;
          const auto rough = fit_multinomial(matrix, classes, count, small.weights, options);
          options.tolerance = 1e-11;
          const auto model = fit_multinomial(matrix, classes, count, small.weights, options);
          EXPECT_TRUE(model.has_converged) << count << " " << l1 << " " << l2;
          EXPECT_LE(model.history.size(), 60U) << count << " " << l1 << " " << l2;
          const double objective =
              check_optimum(small, classes, count, model, options, 1e-3 * std::min(1.0, l1));
          EXPECT_NEAR(model.objective, objective, 1e-9 * objective);
          EXPECT_GE(model.objective, rough.objective - rough.dual_gap - 1e-9 * objective);
        }
}

TEST(Multinomial, RanksMatchOneProcess) {
  const Small small = make_small(900, 8, Loss::kSquared, 36);
  const auto classes = quantile_classes(small, 4);
  for (const double l1 : {0.0, 3.0}) {
    const GlmOptions options{.l1 = l1, .l2 = l1 == 0 ? 1.0 : 0.0, .tolerance = 1e-10};
    const MultinomialModel expected = fit_multinomial(small.matrix(), classes, 4, {}, options);
    comm::ThreadWorld world(3);
    world.run([&](comm::Transport& transport) {
      const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
      GlmOptions own = options;
      own.ranks = communicator.get();
      const std::int64_t begin = 300 * transport.rank();
      const MultinomialModel model =
          fit_multinomial(row_range(small.matrix(), begin, begin + 300),
                          std::span(classes).subspan(begin, 300), 4, {}, own);
      EXPECT_TRUE(model.has_converged);
      for (std::size_t i = 0; i < expected.coefficients.size(); ++i)
        EXPECT_NEAR(model.coefficients[i], expected.coefficients[i], 1e-4) << i;
    });
  }
}

TEST(Multinomial, UsesTheStartValues) {
  const Small small = make_small(400, 8, Loss::kSquared, 35);
  const auto classes = quantile_classes(small, 3);
  for (const double l1 : {0.0, 2.0}) {
    GlmOptions options;
    options.l1 = l1;
    options.tolerance = 1e-9;
    const MultinomialModel cold = fit_multinomial(small.matrix(), classes, 3, {}, options);
    options.start_coefficients = cold.coefficients;
    options.start_intercepts = cold.intercepts;
    const MultinomialModel warm = fit_multinomial(small.matrix(), classes, 3, {}, options);
    EXPECT_GT(cold.history.size(), 2U);
    EXPECT_LE(warm.history.size(), 2U);
    EXPECT_NEAR(warm.history.front().objective, cold.objective, 1e-8 * cold.objective);
    EXPECT_NEAR(warm.objective, cold.objective, 1e-8 * cold.objective);
    options.start_intercepts.pop_back();
    EXPECT_THROW(fit_multinomial(small.matrix(), classes, 3, {}, options), ConfigError);
  }
}

TEST(Multinomial, RejectsInvalidClasses) {
  const Small small = make_small(10, 2, Loss::kSquared, 33);
  std::vector<std::int32_t> classes(10, 1);
  classes[4] = 3;
  EXPECT_THROW(fit_multinomial(small.matrix(), classes, 3, {}, {}), ConfigError);
  EXPECT_THROW(fit_multinomial(small.matrix(), {}, 3, {}, {}), ConfigError);
  classes[4] = 2;
  const std::vector<double> negative(10, -1.0);
  EXPECT_THROW(fit_multinomial(small.matrix(), classes, 3, negative, {}), ConfigError);
}

}  // namespace
}  // namespace tutti::learn
