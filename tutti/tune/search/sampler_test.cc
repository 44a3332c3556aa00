// One suite for all search algorithms: what every sampler must do.
#include "tutti/tune/search/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tutti/core/error.h"
#include "tutti/tune/search/algorithms.h"
#include "tutti/tune/search/gp.h"
#include "tutti/tune/search/ranking.h"
#include "tutti/tune/search/tpe.h"

namespace tutti::tune {
namespace {

Space mixed_space() {
  Space space;
  for (const char* text :
       {"x=0.0..1.0", "rate=log:1e-5..1.0", "layers=1..6", "width=16..128:16", "kind=a,b,c"}) {
    space.push_back(parse_parameter(text));
  }
  return space;
}

Space plane() {
  return {parse_parameter("x=-5.0..5.0"), parse_parameter("y=-5.0..5.0")};
}

// Starts a trial with the suggestion of `sampler`.
std::int64_t start(Sampler& sampler, History& history, const Space& space) {
  const std::int64_t number = history.add({});
  const Suggestion suggestion = sampler.suggest(history, space, number);
  for (std::size_t i = 0; i < space.size(); ++i) {
    EXPECT_TRUE(space[i].distribution.contains(suggestion.values[i]))
        << space[i].name << " = " << suggestion.values[i];
    history.set_parameter(number, space[i].name, space[i].distribution, suggestion.values[i]);
  }
  for (const auto& [key, value] : suggestion.notes)
    history.details(number).system_attributes[key] = value;
  return number;
}

double value_of(const History& history, std::int64_t number, const std::string& name) {
  return history.trial(number).find(name)->value;
}

double bowl(const History& history, std::int64_t number) {
  const double x = value_of(history, number, "x") - 2, y = value_of(history, number, "y") + 1;
  return x * x + y * y;
}

double mixed_loss(const History& history, std::int64_t number) {
  return std::pow(value_of(history, number, "x") - 0.3, 2) +
         0.1 * std::abs(std::log10(value_of(history, number, "rate")) + 3) +
         0.1 * std::abs(value_of(history, number, "layers") - 4) +
         (value_of(history, number, "kind") == 1 ? 0 : 0.5);
}

template <class Loss>
double best_after(Sampler& sampler, const Space& space, int trials, Loss loss) {
  History history;
  for (int i = 0; i < trials; ++i) {
    const std::int64_t number = start(sampler, history, space);
    history.finish(number, TrialState::kComplete, {loss(history, number)}, i);
  }
  return history.loss(*history.best());
}

class EverySampler : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Sampler> sampler(const Space& space, std::uint64_t seed = 1,
                                   std::int64_t trials = 60) {
    return make_sampler(GetParam(), {trials, 1, seed, space});
  }
};

TEST_P(EverySampler, StaysWithinAMixedSpace) {
  const Space space = mixed_space();
  best_after(*sampler(space), space, 30, &mixed_loss);
}

TEST_P(EverySampler, IsAFunctionOfTheHistory) {
  const Space space = mixed_space();
  History history;
  const auto one = sampler(space);
  for (int i = 0; i < 25; ++i) {
    const std::int64_t number = start(*one, history, space);
    history.finish(number, TrialState::kComplete, {mixed_loss(history, number)}, i);
  }
  const auto other = sampler(space);  // as after a restart
  const std::int64_t number = history.add({});
  EXPECT_EQ(one->suggest(history, space, number).values,
            other->suggest(history, space, number).values);
}

TEST_P(EverySampler, DependsOnTheSeed) {
  const Space space = mixed_space();
  History first, second;
  start(*sampler(space, 1), first, space);
  start(*sampler(space, 2), second, space);
  EXPECT_NE(value_of(first, 0, "width") * 1000 + value_of(first, 0, "kind") * 100 +
                value_of(first, 0, "x"),
            value_of(second, 0, "width") * 1000 + value_of(second, 0, "kind") * 100 +
                value_of(second, 0, "x"));
}

TEST_P(EverySampler, ParallelTrialsDiffer) {
  const Space space = plane();
  History history;
  const auto one = sampler(space);
  for (int i = 0; i < 20; ++i) {
    const std::int64_t number = start(*one, history, space);
    history.finish(number, TrialState::kComplete, {bowl(history, number)}, i);
  }
  std::set<std::pair<double, double>> points;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t number = start(*one, history, space);
    points.emplace(value_of(history, number, "x"), value_of(history, number, "y"));
  }
  EXPECT_EQ(points.size(), 4u);
}

TEST_P(EverySampler, AcceptsFailedPrunedAndInfeasibleTrials) {
  const Space space = plane();
  History history;
  const auto one = sampler(space);
  for (int i = 0; i < 30; ++i) {
    const std::int64_t number = start(*one, history, space);
    if (i % 5 == 1) {
      history.finish(number, TrialState::kFailed, {}, i);
    } else if (i % 5 == 2) {
      history.report(number, {1, bowl(history, number)});
      history.finish(number, TrialState::kPruned, {bowl(history, number)}, i);
    } else {
      history.details(number).constraints = {i % 5 == 3 ? 1.0 : -1.0};
      history.finish(number, TrialState::kComplete, {bowl(history, number)}, i);
    }
  }
  EXPECT_NE(history.best(), nullptr);
}

TEST_P(EverySampler, AcceptsSpacesWithOneValue) {
  const Space space = {parse_parameter("n=3..3"), parse_parameter("c=only"),
                       parse_parameter("x=0.5..0.5")};
  History history;
  const auto one = sampler(space);
  for (int i = 0; i < 15; ++i) {
    const std::int64_t number = start(*one, history, space);
    history.finish(number, TrialState::kComplete, {1}, i);
  }
  EXPECT_EQ(value_of(history, 14, "n"), 3);
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) names.push_back(algorithm.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, EverySampler, testing::ValuesIn(algorithm_names()),
                         [](const auto& algorithm) { return algorithm.param; });

class ModelBasedSampler : public EverySampler {};

// Means over seeds, so no result depends on one draw.
TEST_P(ModelBasedSampler, FindsBetterPointsThanRandomSearch) {
  double own = 0, random = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    own += best_after(*sampler(plane(), seed, 60), plane(), 60, &bowl);
    random += best_after(*make_random_sampler(seed), plane(), 60, &bowl);
  }
  EXPECT_LT(own, 0.5 * random);
}

INSTANTIATE_TEST_SUITE_P(All, ModelBasedSampler, testing::Values("auto", "tpe", "gp", "cma_es"),
                         [](const auto& algorithm) { return algorithm.param; });

TEST(Tpe, FindsTheGoodChoice) {
  const Space space = mixed_space();
  double tpe = 0, random = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    tpe += best_after(*make_tpe_sampler({}, seed), space, 60, &mixed_loss);
    random += best_after(*make_random_sampler(seed), space, 60, &mixed_loss);
  }
  EXPECT_LT(tpe, random);
}

TEST(Tpe, UsesEveryGroupOfConditionalParameters) {
  History history;
  const auto sampler = make_tpe_sampler({}, 1);
  Space space = {parse_parameter("kind=a,b"), parse_parameter("x=0.0..1.0"),
                 parse_parameter("y=0.0..1.0")};
  add_condition(space[1], space, "kind", {"a"});
  add_condition(space[2], space, "kind", {"b"});
  for (int i = 0; i < 80; ++i) {
    const std::int64_t number = history.add({});
    const std::vector<double> values = sampler->suggest(history, space, number).values;
    const std::vector<bool> active = active_parameters(space, values);
    double loss = 0.5;
    for (std::size_t j = 0; j < space.size(); ++j) {
      if (!active[j]) continue;
      history.set_parameter(number, space[j].name, space[j].distribution, values[j]);
      if (j == 1) loss = std::abs(values[1] - 0.2);
      if (j == 2) loss = 0.3 + std::abs(values[2] - 0.9);
    }
    history.finish(number, TrialState::kComplete, {loss}, i);
  }
  EXPECT_LT(history.loss(*history.best()), 0.05);
}

TEST(Grid, TriesEveryCombinationOnce) {
  const Space space = {parse_parameter("n=1..3"), parse_parameter("c=a,b"),
                       parse_parameter("x=0.0..1.0")};
  const auto sampler = make_grid_sampler(space, 4, 1);
  History history;
  std::set<std::vector<double>> seen;
  while (!sampler->is_exhausted(history)) {
    const std::int64_t number = start(*sampler, history, space);
    seen.insert({value_of(history, number, "n"), value_of(history, number, "c"),
                 value_of(history, number, "x")});
    history.finish(number, TrialState::kComplete, {0}, 0);
  }
  EXPECT_EQ(history.trials().size(), 24u);
  EXPECT_EQ(seen.size(), 24u);
}

TEST(Grid, TriesTheCombinationOfAFailedTrialAgain) {
  const Space space = {parse_parameter("n=1..3")};
  const auto sampler = make_grid_sampler(space, 1, 1);
  History history;
  const std::int64_t failed = start(*sampler, history, space);
  start(*sampler, history, space);
  history.finish(failed, TrialState::kFailed, {}, 0);
  const std::int64_t again = start(*sampler, history, space);
  EXPECT_EQ(value_of(history, again, "n"), value_of(history, failed, "n"));
  EXPECT_FALSE(sampler->is_exhausted(history));
  start(*sampler, history, space);
  EXPECT_TRUE(sampler->is_exhausted(history));
}

TEST(Grid, RejectsUnknownParametersAndHugeGrids) {
  const auto sampler = make_grid_sampler({parse_parameter("n=1..3")}, 1, 1);
  History history;
  history.add({});
  EXPECT_THROW(sampler->suggest(history, {parse_parameter("m=1..3")}, 0), ConfigError);
  EXPECT_THROW(make_grid_sampler({parse_parameter("n=0..4294967296")}, 1, 1), ConfigError);
}

// Any 16 consecutive points have one in each sixteenth of every axis.
TEST(Sobol, CoversEveryAxisEvenly) {
  const Space space = {parse_parameter("x=0.0..1.0"), parse_parameter("y=0.0..1.0"),
                       parse_parameter("z=0.0..1.0")};
  const auto sampler = make_sobol_sampler(3);
  History history;
  std::vector<std::set<int>> cells(3);
  for (int i = 0; i < 16; ++i) {
    history.add({});
    const std::vector<double> values = sampler->suggest(history, space, i).values;
    for (std::size_t d = 0; d < 3; ++d) cells[d].insert(static_cast<int>(values[d] * 16));
  }
  for (const std::set<int>& cell : cells) EXPECT_EQ(cell.size(), 16u);
}

TEST(Gp, AvoidsPointsThatViolateAConstraint) {
  const Space space = plane();
  const auto sampler = make_gp_sampler({}, 1);
  History history;
  int feasible = 0;
  for (int i = 0; i < 30; ++i) {
    const std::int64_t number = start(*sampler, history, space);
    const double violation =
        value_of(history, number, "x") - 1;  // the optimum, x = 2, is not allowed
    history.details(number).constraints = {violation};
    history.finish(number, TrialState::kComplete, {bowl(history, number)}, i);
    if (i >= 15) feasible += violation <= 0.2;
  }
  EXPECT_GE(feasible, 10);
  EXPECT_LT(history.loss(*history.best()), 2) << "1 at best";
}

TEST(MultiObjective, FindsBothEndsOfTheFront) {
  const Space space = plane();
  for (const char* algorithm : {"gp", "tpe", "nsga2", "auto"}) {
    const auto sampler = make_sampler(algorithm, {100, 1, 1, space});
    History history({Direction::kMinimize, Direction::kMinimize});
    double first = 1e9, second = 1e9;
    for (int i = 0; i < 100; ++i) {
      const std::int64_t number = start(*sampler, history, space);
      const double x = value_of(history, number, "x"), y = value_of(history, number, "y");
      first = std::min(first, x * x + y * y);
      second = std::min(second, (x - 2) * (x - 2) + y * y);
      history.finish(number, TrialState::kComplete, {x * x + y * y, (x - 2) * (x - 2) + y * y}, i);
    }
    EXPECT_LT(first, 1) << algorithm;
    EXPECT_LT(second, 1) << algorithm;
    EXPECT_GE(history.pareto_front().size(), 3u) << algorithm;
  }
}

TEST(Ranking, OrdersByFrontAndCrowding) {
  History history({Direction::kMinimize, Direction::kMinimize});
  for (const auto& [a, b] : std::vector<std::pair<double, double>>{
           {0, 10}, {5, 5}, {5.1, 4.9}, {10, 0}, {11, 11}, {6, 6}}) {
    history.finish(history.add({}), TrialState::kComplete, {a, b}, 0);
  }
  EXPECT_THAT(front_ranks(history, {0, 1, 2, 3, 4, 5}), testing::ElementsAre(0, 0, 0, 0, 2, 1));
  std::vector<std::int64_t> numbers = {0, 1, 2, 3, 4, 5};
  split_best(history, numbers, 2);
  EXPECT_EQ((std::set<std::int64_t>{numbers[0], numbers[1]}), (std::set<std::int64_t>{0, 3}))
      << "the ends";
}

TEST(Algorithms, RejectsUnknownNames) {
  EXPECT_THROW(make_sampler("annealing", {}), ConfigError);
  EXPECT_THROW(make_sampler("grid", {}), ConfigError) << "the space is unknown";
}

}  // namespace
}  // namespace tutti::tune
