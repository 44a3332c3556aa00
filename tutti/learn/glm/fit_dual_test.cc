#include "tutti/learn/glm/fit_dual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/comm/communicator.h"
#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/core/error.h"
#include "tutti/learn/glm/test_problems.h"

namespace tutti::learn {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

GlmOptions options_for(Loss loss, Solver solver = Solver::kAuto) {
  GlmOptions options;
  options.loss = loss;
  options.solver = solver;
  options.tolerance = 1e-12;
  options.threads = 2;
  return options;
}

class DualOfEveryLoss : public testing::TestWithParam<Loss> {};

TEST_P(DualOfEveryLoss, HasTheOptimumOfNewtonCg) {
  Small small = make_small(60, 700, GetParam(), 3);
  for (std::int64_t r = 0; r < small.rows; ++r) small.weights.push_back(static_cast<double>(r % 3));
  for (const bool has_intercept : {false, true})
    for (const bool is_penalised : {false, true}) {
      GlmOptions options = options_for(GetParam());
      options.fit_intercept = has_intercept;
      options.penalise_intercept = is_penalised;
      options.intercept_value = 2;
      const GlmModel model = small.fit(options);
      EXPECT_EQ(model.solver, Solver::kDual);
      EXPECT_TRUE(model.has_converged);
      EXPECT_NEAR(model.objective, objective_of(small, model, options),
                  1e-9 * std::abs(model.objective));
      EXPECT_GE(model.dual_gap, 0);
      options.solver = Solver::kNewtonCg;
      const GlmModel other = small.fit(options);
      EXPECT_THAT(model.coefficients, Pointwise(DoubleNear(1e-6), other.coefficients));
      EXPECT_NEAR(model.intercept, other.intercept, 1e-6);
    }
}
INSTANTIATE_TEST_SUITE_P(Smooth, DualOfEveryLoss,
                         testing::Values(Loss::kSquared, Loss::kLogistic, Loss::kSquaredHinge,
                                         Loss::kPoisson, Loss::kGamma));

TEST(FitDual, HingeIsWithinItsGapOfSdca) {
  const Small small = make_small(80, 600, Loss::kHinge, 5);
  GlmOptions options = options_for(Loss::kHinge);
  options.tolerance = 1e-6;
  options.l2 = 30;
  options.fit_intercept = false;
  const GlmModel model = small.fit(options);
  EXPECT_EQ(model.solver, Solver::kDual);
  EXPECT_TRUE(model.has_converged);
  options.solver = Solver::kSdca;
  const GlmModel other = small.fit(options);
  EXPECT_GE(model.objective, other.objective - other.dual_gap);
  EXPECT_GE(other.objective, model.objective - model.dual_gap);
}

TEST(FitDual, DependentAndEmptyRowsAreAllowed) {
  Small small = make_small(30, 600, Loss::kSquared, 7);
  for (std::int64_t j = 0; j < 600; ++j) {
    small.values[600 + j] = small.values[j];              // row 1 equals row 0
    small.values[1200 + j] = 0;                           // row 2 is empty
    small.values[1800 + j] = 3 * small.values[2400 + j];  // row 3 is a multiple of row 4
  }
  const GlmOptions options = options_for(Loss::kSquared);
  const GlmModel model = small.fit(options);
  EXPECT_TRUE(model.has_converged);
  EXPECT_LT(gradient_of(small, model, options), 1e-6);
}

TEST(FitDual, TheNumberOfThreadsDoesNotMatter) {
  const Small small = make_small(300, 5000, Loss::kLogistic, 9);
  GlmOptions options = options_for(Loss::kLogistic);
  options.threads = 1;
  const GlmModel one = small.fit(options);
  options.threads = 3;
  const GlmModel three = small.fit(options);
  EXPECT_EQ(one.coefficients, three.coefficients);
  EXPECT_EQ(one.dual_gap, three.dual_gap);
}

TEST(FitDual, SparseAndSinglePrecisionRowsAreTheSame) {
  const Small small = make_small(50, 800, Loss::kLogistic, 11, 0.05);
  const GlmOptions options = options_for(Loss::kLogistic);
  const GlmModel dense = small.fit(options);
  for (const Storage storage : {Storage::kCsr, Storage::kCsc}) {
    const GlmModel sparse =
        fit(to_storage(small.matrix(), storage), small.labels, small.weights, options);
    EXPECT_EQ(sparse.solver, Solver::kDual);
    EXPECT_THAT(sparse.coefficients, Pointwise(DoubleNear(1e-8), dense.coefficients));
  }
  const std::vector<float> values(small.values.begin(), small.values.end());
  Matrix single = small.matrix();
  single.dtype = DType::kF32;
  single.values = values.data();
  const GlmModel rounded = fit(single, small.labels, small.weights, options);
  EXPECT_TRUE(rounded.has_converged);
  EXPECT_THAT(rounded.coefficients, Pointwise(DoubleNear(1e-5), dense.coefficients));
}

TEST(FitDual, StartsFromCoefficients) {
  const Small small = make_small(50, 800, Loss::kLogistic, 13);
  GlmOptions options = options_for(Loss::kLogistic);
  options.tolerance = 1e-8;
  const GlmModel cold = small.fit(options);
  options.start_coefficients = cold.coefficients;
  options.start_intercept = cold.intercept;
  const GlmModel warm = small.fit(options);
  EXPECT_LT(warm.iterations(), cold.iterations());
  EXPECT_NEAR(warm.objective, cold.objective, 1e-7 * cold.objective);
}

TEST(FitDual, IsChosenForFewRowsAndRefusedElsewhere) {
  const Small small = make_small(20, 600, Loss::kLogistic, 15);
  GlmOptions options = options_for(Loss::kLogistic);
  EXPECT_THAT(small.fit(options).why, HasSubstr("20 rows are fewer than 600 columns"));
  options.l1 = 1;
  EXPECT_EQ(choose_solver(small.matrix(), options), Solver::kWorkingSet);
  options.solver = Solver::kDual;
  EXPECT_THROW(small.fit(options), ConfigError);
  options.l1 = options.l2 = 0;
  EXPECT_THROW(small.fit(options), ConfigError);
}

TEST(FitDual, RanksUseAnotherSolver) {
  const Small small = make_small(40, 600, Loss::kLogistic, 17);
  const GlmModel alone = small.fit(options_for(Loss::kLogistic));
  comm::ThreadWorld world(2);
  world.run([&](comm::Transport& transport) {
    const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
    const std::int64_t first = 20 * transport.rank();
    GlmOptions options = options_for(Loss::kLogistic);
    options.ranks = communicator.get();
    const Matrix part = row_range(small.matrix(), first, first + 20);
    const std::span labels(small.labels.data() + first, 20);
    const GlmModel model = fit(part, labels, {}, options);
    EXPECT_EQ(model.solver, Solver::kNewtonCg);
    EXPECT_THAT(model.coefficients, Pointwise(DoubleNear(1e-6), alone.coefficients));
    options.solver = Solver::kDual;
    EXPECT_THROW(fit(part, labels, {}, options), ConfigError);
  });
}

}  // namespace
}  // namespace tutti::learn
