#include "tutti/tune/store/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tutti/core/test_error.h"
#include "tutti/tune/search/algorithms.h"
#include "tutti/tune/search/tpe.h"

namespace tutti::tune {
namespace {

using testing::HasSubstr;

Study study_in_memory(std::shared_ptr<Sampler> sampler = make_random_sampler(1)) {
  return Study({Direction::kMinimize}, std::move(sampler), make_no_pruner());
}

TEST(Study, SuggestsTheSameValueAgain) {
  Study study = study_in_memory();
  const std::int64_t number = study.ask();
  const double value = study.suggest(number, "x", Distribution::real(0, 1));
  EXPECT_EQ(study.suggest(number, "x", Distribution::real(0, 1)), value);
  EXPECT_THAT(error_of([&] { study.suggest(number, "x", Distribution::integer(0, 1)); }),
              HasSubstr("DDL-10-25"));
}

TEST(Study, RejectsChangesOfFinishedTrialsAndInvalidValues) {
  Study study = study_in_memory();
  const std::int64_t number = study.ask();
  EXPECT_THAT(error_of([&] { study.tell(number, TrialState::kComplete, {1, 2}); }),
              HasSubstr("DDL-10-27"));
  EXPECT_THAT(error_of([&] { study.tell(number, TrialState::kComplete, {std::nan("")}); }),
              HasSubstr("DDL-10-27"));
  study.tell(number, TrialState::kComplete, {1});
  EXPECT_THAT(error_of([&] { study.tell(number, TrialState::kComplete, {1}); }),
              HasSubstr("DDL-10-26"));
  EXPECT_THAT(error_of([&] { study.report(99, 1, 1); }), HasSubstr("DDL-10-26"));
}

TEST(Study, StartsEnqueuedTrialsFirst) {
  Study study = study_in_memory();
  study.enqueue({{"x", "0.125"}, {"kind", "\"b\""}});
  const std::int64_t number = study.ask();
  EXPECT_EQ(number, 0);
  EXPECT_EQ(study.suggest(number, "x", Distribution::real(0, 1)), 0.125);
  EXPECT_EQ(study.suggest(number, "kind", Distribution::categorical({"\"a\"", "\"b\""})), 1);
  EXPECT_EQ(study.ask(), 1);
}

TEST(Study, RequeuedTrialKeepsItsParameters) {
  Study study = study_in_memory();
  const Space space = {{"x", Distribution::real(0, 1)}};
  const std::int64_t number = study.ask(space);
  const double value = study.trial(number).find("x")->value;
  study.requeue(number);
  EXPECT_EQ(study.ask(space), number);
  EXPECT_EQ(study.trial(number).find("x")->value, value);
}

TEST(Study, RecordsValuesThatTheCallerHasDrawn) {
  Study study = study_in_memory();
  const std::int64_t number = study.ask();
  study.set_parameter(number, "x", Distribution::real(0, 1), 7);
  EXPECT_EQ(study.suggest(number, "x", Distribution::real(0, 1)), 7);
  EXPECT_THAT(error_of([&] { study.set_parameter(number, "x", Distribution::integer(0, 1), 1); }),
              HasSubstr("DDL-10-25"));
  EXPECT_EQ(study.inspect([](const History& history) { return history.column("x")->values.at(0); }),
            7);
}

TEST(Study, DeclaredSpaceHasOnlyActiveParameters) {
  Study study = study_in_memory(make_sampler("auto", {}));
  Space space = {parse_parameter("kind=a,b"), parse_parameter("x=0.0..1.0")};
  add_condition(space[1], space, "kind", {"a"});
  for (int i = 0; i < 30; ++i) {
    const Trial trial = study.trial(study.ask(space));
    EXPECT_EQ(trial.find("x") != nullptr, trial.find("kind")->value == 0);
    study.tell(trial.number, TrialState::kComplete, {static_cast<double>(i % 3)});
  }
}

// A program without a declared space gets the same correlated search: parameters are drawn together from trial 2 on.
TEST(Study, DrawsKnownParametersTogether) {
  Study study = study_in_memory(make_sampler("gp", {}));
  double best = 1e9;
  for (int i = 0; i < 40; ++i) {
    const std::int64_t number = study.ask();
    const double x = study.suggest(number, "x", Distribution::real(-5, 5));
    const double y = study.suggest(number, "y", Distribution::real(-5, 5));
    const double loss = (x + y) * (x + y) + 0.1 * (x - 1) * (x - 1);
    best = std::min(best, loss);
    study.tell(number, TrialState::kComplete, {loss});
  }
  EXPECT_LT(best, 0.1);
}

TEST(Study, IsUsedByManyThreads) {
  Study study = study_in_memory(make_tpe_sampler({}, 1));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) {
        const std::int64_t number = study.ask();
        const double x = study.suggest(number, "x", Distribution::real(0, 1));
        study.report(number, 1, x);
        study.should_prune(number);
        study.tell(number, TrialState::kComplete, {x});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(study.history().count(TrialState::kComplete), 200u);
}

}  // namespace
}  // namespace tutti::tune
