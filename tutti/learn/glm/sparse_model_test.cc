// Tests of models with l1 penalties and of the dual solver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/comm/communicator.h"
#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/core/error.h"
#include "tutti/learn/glm/test_problems.h"

namespace tutti::learn {
namespace {

GlmOptions with_l1(Loss loss, Solver solver, double l1, double l2) {
  GlmOptions options;
  options.loss = loss;
  options.solver = solver;
  options.l1 = l1;
  options.l2 = l2;
  options.tolerance = 1e-12;
  options.threads = 2;
  return options;
}

// Checks the optimality conditions of all columns and the intercept.
void expect_optimal(const Small& small, const GlmModel& model, const GlmOptions& options) {
  const std::vector<double> margins =
      margins_of(small.matrix(), model.coefficients, model.intercept, 1);
  std::vector<double> first(small.rows), second(small.rows);
  loss_terms(options.loss, margins.data(), small.labels.data(),
             small.weights.empty() ? nullptr : small.weights.data(), small.rows, first.data(),
             second.data());
  double sum = 0;
  for (const double d : first) sum += d;
  EXPECT_NEAR(options.fit_intercept ? sum : 0, 0, 1e-3);
  for (std::int64_t j = 0; j < small.columns; ++j) {
    const double w = model.coefficients[j];
    double derivative = options.l2 * w;
    for (std::int64_t r = 0; r < small.rows; ++r)
      derivative += first[r] * small.values[r * small.columns + j];
    if (w == 0) {
      EXPECT_LE(std::abs(derivative), options.l1 + 1e-3) << j;
    } else {
      EXPECT_NEAR(derivative, w > 0 ? -options.l1 : options.l1, 1e-3) << j;
    }
  }
}

class WithL1 : public testing::TestWithParam<std::tuple<Loss, Solver, double>> {};

TEST_P(WithL1, EndsAtTheOptimum) {
  const auto [loss, solver, l2] = GetParam();
  Small small = make_small(300, 40, loss, 21, 0.5);
  for (std::int64_t r = 0; r < small.rows; ++r)
    small.weights.push_back(1 + static_cast<double>(r % 3));
  for (const double l1 : {5.0, 60.0})
    for (const bool has_intercept : {false, true}) {
      GlmOptions options = with_l1(loss, solver, l1, l2);
      options.fit_intercept = has_intercept;
      const GlmModel model = small.fit(options);
      EXPECT_TRUE(model.has_converged);
      EXPECT_NEAR(model.objective, objective_of(small, model, options),
                  1e-7 * std::abs(model.objective));
      expect_optimal(small, model, options);
    }
}
INSTANTIATE_TEST_SUITE_P(Smooth, WithL1,
                         testing::Combine(testing::Values(Loss::kSquared, Loss::kLogistic,
                                                          Loss::kSquaredHinge, Loss::kPoisson),
                                          testing::Values(Solver::kNewton, Solver::kNewtonCg,
                                                          Solver::kWorkingSet),
                                          testing::Values(0.0, 2.0)));

TEST(L1, StrongPenaltyLeavesTheInterceptOnly) {
  const Small small = make_small(200, 20, Loss::kLogistic, 22);
  for (const Solver solver : {Solver::kNewton, Solver::kNewtonCg, Solver::kWorkingSet}) {
    const GlmModel model = small.fit(with_l1(Loss::kLogistic, solver, 1e4, 0));
    for (const double w : model.coefficients) EXPECT_EQ(w, 0);
    EXPECT_NE(model.intercept, 0);
  }
}

TEST(L1, GapIsAnUpperBound) {
  const Small small = make_small(400, 100, Loss::kLogistic, 23);
  for (const double l2 : {0.0, 1.0})
    for (const Solver solver : {Solver::kNewtonCg, Solver::kWorkingSet}) {
      GlmOptions options = with_l1(Loss::kLogistic, solver, 8, l2);
      const double best = small.fit(options).objective;
      for (const Progress& progress : small.fit(options).history)
        EXPECT_GE(progress.dual_gap, progress.objective - best - 1e-6);
    }
}

TEST(L1, SameBitsForAnyNumberOfThreads) {
  const Small small = make_small(2000, 60, Loss::kLogistic, 24);
  for (const Solver solver : {Solver::kNewtonCg, Solver::kWorkingSet}) {
    GlmOptions options = with_l1(Loss::kLogistic, solver, 8, 0);
    options.threads = 1;
    const GlmModel one = small.fit(options);
    options.threads = 3;
    EXPECT_EQ(small.fit(options).coefficients, one.coefficients);
  }
}

// More columns than solver newton supports, few of which matter.
TEST(L1, RanksMatchOneProcess) {
  const Small small = make_small(600, 700, Loss::kLogistic, 29, 0.2);
  const GlmModel expected = small.fit(with_l1(Loss::kLogistic, Solver::kAuto, 4, 0));
  EXPECT_EQ(expected.solver, Solver::kWorkingSet);
  for (const bool is_sparse : {false, true}) {
    comm::ThreadWorld world(3);
    world.run([&](comm::Transport& transport) {
      const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
      GlmOptions own = with_l1(Loss::kLogistic, Solver::kAuto, 4, 0);
      own.ranks = communicator.get();
      const std::int64_t begin = 200 * transport.rank();
      const std::vector<double> labels(small.labels.begin() + begin,
                                       small.labels.begin() + begin + 200);
      Matrix rows = row_range(small.matrix(), begin, begin + 200);
      if (is_sparse) rows = to_storage(rows, Storage::kCsr, 1);
      const GlmModel model = fit(rows, labels, {}, own);
      EXPECT_TRUE(model.has_converged);
      EXPECT_NEAR(model.objective, expected.objective, 1e-8 * expected.objective);
      for (std::size_t j = 0; j < expected.coefficients.size(); ++j)
        ASSERT_NEAR(model.coefficients[j], expected.coefficients[j], 1e-4) << j;
    });
  }
}

class Dual : public testing::TestWithParam<Loss> {
 protected:
  static GlmOptions options() {
    GlmOptions options;
    options.loss = GetParam();
    options.solver = Solver::kSdca;
    options.tolerance = 1e-7;
    options.max_iterations = 5000;
    options.threads = 2;
    return options;
  }
};

TEST_P(Dual, ClosesTheGap) {
  Small small = make_small(400, 8, GetParam(), 25);
  for (std::int64_t r = 0; r < small.rows; ++r) small.weights.push_back(static_cast<double>(r % 3));
  for (const int kind : {0, 1, 2}) {
    GlmOptions asked = options();
    asked.fit_intercept = kind > 0;
    asked.penalise_intercept = kind == 1;
    const GlmModel model = small.fit(asked);
    EXPECT_TRUE(model.has_converged) << kind;
    EXPECT_NEAR(model.objective, objective_of(small, model, asked), 1e-6 * model.objective);
    asked.solver = is_smooth(GetParam()) ? Solver::kNewton : Solver::kInteriorPoint;
    asked.tolerance = is_smooth(GetParam()) ? 1e-14 : 1e-9;
    EXPECT_NEAR(model.objective, small.fit(asked).objective, 1e-5 * model.objective) << kind;
  }
}

TEST_P(Dual, SameBitsForAnyNumberOfThreads) {
  const Small small = make_small(120000, 4, GetParam(), 26);
  GlmOptions asked = options();
  asked.max_iterations = 3;
  asked.threads = 1;
  const GlmModel one = small.fit(asked);
  asked.threads = 3;
  EXPECT_EQ(small.fit(asked).coefficients, one.coefficients);
}

TEST_P(Dual, RanksReachTheSameObjective) {
  const Small small = make_small(600, 5, GetParam(), 27);
  const GlmModel expected = small.fit(options());
  comm::ThreadWorld world(3);
  world.run([&](comm::Transport& transport) {
    const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
    GlmOptions own = options();
    own.ranks = communicator.get();
    const std::int64_t begin = 200 * transport.rank();
    const std::vector<double> labels(small.labels.begin() + begin,
                                     small.labels.begin() + begin + 200);
    const GlmModel model = fit(row_range(small.matrix(), begin, begin + 200), labels, {}, own);
    EXPECT_NEAR(model.objective, expected.objective, 1e-5 * expected.objective);
    EXPECT_GE(model.inner_rounds, 1);
    own.inner_rounds = 3;
    const GlmModel seldom = fit(row_range(small.matrix(), begin, begin + 200), labels, {}, own);
    EXPECT_EQ(seldom.inner_rounds, 3);
    EXPECT_NEAR(seldom.objective, expected.objective, 1e-5 * expected.objective);
  });
}
INSTANTIATE_TEST_SUITE_P(Losses, Dual,
                         testing::Values(Loss::kHinge, Loss::kSquaredHinge, Loss::kLogistic,
                                         Loss::kSquared));

// Columns of very different scales, as in real data.
TEST(Solvers, HingeNeedsNoScaledColumns) {
  Small small = make_small(3000, 6, Loss::kHinge, 29);
  for (std::size_t i = 0; i < small.values.size(); ++i)
    small.values[i] =
        small.values[i] * std::pow(10.0, static_cast<double>(i % 6) - 2) + (i % 6 == 5 ? 5000 : 0);
  for (const bool has_intercept : {false, true}) {
    const GlmOptions asked{.loss = Loss::kHinge, .fit_intercept = has_intercept};
    const GlmModel model = small.fit(asked);
    EXPECT_EQ(model.solver, Solver::kInteriorPoint);
    EXPECT_TRUE(model.has_converged);
    EXPECT_LE(model.dual_gap, 1e-6 * model.objective);
    EXPECT_LE(model.iterations(), 60);
    EXPECT_NEAR(model.objective, objective_of(small, model, asked), 1e-9 * model.objective);
    std::vector<float> singles(small.values.begin(), small.values.end());
    Matrix rows = small.matrix();
    rows.dtype = DType::kF32;
    rows.values = singles.data();
    const GlmModel rough = fit(rows, small.labels, {}, asked);
    EXPECT_TRUE(rough.has_converged);
    EXPECT_NEAR(rough.objective, model.objective, 1e-4 * model.objective);
  }
}

TEST(Solvers, InteriorPointMatchesForAnyRanksAndThreads) {
  Small small = make_small(3000, 5, Loss::kHinge, 30);
  for (std::int64_t r = 0; r < small.rows; ++r) small.weights.push_back(static_cast<double>(r % 3));
  GlmOptions asked{.loss = Loss::kHinge, .tolerance = 1e-9, .threads = 1};
  const GlmModel expected = small.fit(asked);
  asked.threads = 3;
  EXPECT_EQ(small.fit(asked).coefficients, expected.coefficients);
  comm::ThreadWorld world(3);
  world.run([&](comm::Transport& transport) {
    const auto communicator = comm::Communicator::create(world.transport(transport.rank()));
    GlmOptions own = asked;
    own.ranks = communicator.get();
    const std::int64_t begin = 1000 * transport.rank();
    const auto part = [&](const std::vector<double>& all) {
      return std::vector<double>(all.begin() + begin, all.begin() + begin + 1000);
    };
    const GlmModel model = fit(row_range(small.matrix(), begin, begin + 1000), part(small.labels),
                               part(small.weights), own);
    EXPECT_TRUE(model.has_converged);
    EXPECT_NEAR(model.objective, expected.objective, 2e-9 * expected.objective);
  });
}

TEST(Solvers, RejectUnsupportedProblems) {
  const Small small = make_small(20, 3, Loss::kLogistic, 28);
  const auto refused = [&](Loss loss, Solver solver, double l1, double l2) {
    EXPECT_THROW(small.fit(with_l1(loss, solver, l1, l2)), ConfigError);
  };
  refused(Loss::kHinge, Solver::kNewton, 0, 1);
  refused(Loss::kHinge, Solver::kInteriorPoint, 0, 0);
  refused(Loss::kLogistic, Solver::kInteriorPoint, 0, 1);
  refused(Loss::kHinge, Solver::kAuto, 1, 1);
  refused(Loss::kLogistic, Solver::kSdca, 0, 0);
}

}  // namespace
}  // namespace tutti::learn
