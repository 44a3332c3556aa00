#include "tutti/tune/prune/pruner.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tutti::tune {
namespace {

// Adds a trial with the reports at steps 1, 2, ... Complete trials have the last report as value.
std::int64_t add_trial(History& history, TrialState state, const std::vector<double>& reports) {
  const std::int64_t number = history.add({});
  for (std::size_t i = 0; i < reports.size(); ++i) {
    history.report(number, {static_cast<std::int64_t>(i) + 1, reports[i]});
  }
  if (is_finished(state)) history.finish(number, state, {reports.back()}, 0);
  return number;
}

bool is_pruned(const Pruner& pruner, History& history, const std::vector<double>& reports) {
  return pruner.should_prune(history,
                             history.trial(add_trial(history, TrialState::kRunning, reports)));
}

TEST(MedianPruner, ComparesTheBestReportWithOthersAtTheSameStep) {
  History history;
  for (const double loss : {1.0, 2.0, 3.0}) add_trial(history, TrialState::kComplete, {loss, loss});
  const auto pruner = make_percentile_pruner({.startup_trials = 3});
  EXPECT_TRUE(is_pruned(*pruner, history, {2.5}));
  EXPECT_FALSE(is_pruned(*pruner, history, {2.0}));
  EXPECT_FALSE(is_pruned(*pruner, history, {1.5, 9.0})) << "its best report is good";
  EXPECT_TRUE(is_pruned(*pruner, history, {std::nan("")}));
}

TEST(MedianPruner, WaitsForStartupTrialsWarmupAndInterval) {
  History history;
  for (int i = 0; i < 4; ++i) add_trial(history, TrialState::kComplete, {1, 1, 1, 1, 1, 1});
  EXPECT_FALSE(is_pruned(*make_percentile_pruner({.startup_trials = 5}), history, {9}));
  const auto late = make_percentile_pruner({.startup_trials = 1, .steps = {3, 2}});
  EXPECT_FALSE(is_pruned(*late, history, {9, 9}));
  EXPECT_TRUE(is_pruned(*late, history, {9, 9, 9}));
  EXPECT_FALSE(is_pruned(*late, history, {9, 9, 9, 9}));
  EXPECT_TRUE(is_pruned(*late, history, {9, 9, 9, 9, 9}));
}

TEST(MedianPruner, MaximizesIfAsked) {
  History history({Direction::kMaximize});
  for (const double value : {1.0, 2.0, 3.0}) add_trial(history, TrialState::kComplete, {value});
  const auto pruner = make_percentile_pruner({.startup_trials = 1});
  EXPECT_TRUE(is_pruned(*pruner, history, {1.5}));
  EXPECT_FALSE(is_pruned(*pruner, history, {2.5}));
}

TEST(ThresholdPruner, PrunesValuesOutsideOfTheLimits) {
  History history;
  const auto pruner = make_threshold_pruner({0, 10});
  EXPECT_FALSE(is_pruned(*pruner, history, {10}));
  EXPECT_TRUE(is_pruned(*pruner, history, {11}));
  EXPECT_TRUE(is_pruned(*pruner, history, {-1}));
  EXPECT_TRUE(is_pruned(*pruner, history, {std::nan("")}));
}

TEST(PatientPruner, WaitsUntilRecentReportsDoNotImprove) {
  History history;
  const auto pruner = make_patient_pruner(nullptr, 2, 0);
  EXPECT_FALSE(is_pruned(*pruner, history, {1, 2, 3})) << "too few reports";
  EXPECT_TRUE(is_pruned(*pruner, history, {1, 2, 3, 4}));
  EXPECT_FALSE(is_pruned(*pruner, history, {4, 3, 2, 1}));
  const auto tolerant = make_patient_pruner(nullptr, 1, 5);
  EXPECT_FALSE(is_pruned(*tolerant, history, {1, 2, 3, 4}));
}

// Adds a complete trial whose reports are all 0, and returns what the pruner decides after each report of another one.
std::vector<bool> decisions_of_wilcoxon(double p_threshold, const std::vector<double>& reports) {
  History history;
  add_trial(history, TrialState::kComplete, std::vector<double>(reports.size(), 0));
  const auto pruner = make_wilcoxon_pruner({.p_threshold = p_threshold, .startup_steps = 0});
  const std::int64_t number = add_trial(history, TrialState::kRunning, {});
  std::vector<bool> decisions;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    history.report(number, {static_cast<std::int64_t>(i) + 1, reports[i]});
    decisions.push_back(pruner->should_prune(history, history.trial(number)));
  }
  return decisions;
}

TEST(WilcoxonPruner, PrunesBelowTheProbability) {
  // 1 of 2, 4 and 8 sums of signed ranks is as large: p = 1/2, 1/4, 1/8; then 3/16 with a tie of 1 and -1.
  EXPECT_EQ(decisions_of_wilcoxon(0.2, {1, 2, 3}), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(decisions_of_wilcoxon(0.125, {1, 2, 3}), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(decisions_of_wilcoxon(0.188, {-1, 1, 2, 3}),
            (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(decisions_of_wilcoxon(0.187, {-1, 1, 2, 3}),
            (std::vector<bool>{false, false, false, false}));
  EXPECT_EQ(decisions_of_wilcoxon(1, {0, 0, 0}), (std::vector<bool>{false, false, false}));
}

TEST(WilcoxonPruner, ManyPairsAreNearlyNormal) {
  std::vector<double> worse(120, 0), balanced(120, 0);
  for (std::size_t i = 0; i < worse.size(); ++i) {
    worse[i] = static_cast<double>(i + 1) * (i % 4 == 0 ? -1 : 1);
    balanced[i] = static_cast<double>(i + 1) * (i % 2 == 0 ? -1 : 1);
  }
  EXPECT_TRUE(decisions_of_wilcoxon(0.01, worse).back());
  EXPECT_FALSE(decisions_of_wilcoxon(0.01, balanced).back());
}

TEST(WilcoxonPruner, KeepsATrialWhoseMeanIsAsGood) {
  History history;
  add_trial(history, TrialState::kComplete, {0, 0, 0, 0, 8, 8, 8, 8});
  const auto pruner = make_wilcoxon_pruner({});
  EXPECT_FALSE(is_pruned(*pruner, history, {4, 4, 4, 4})) << "p is 1/16, but the mean is equal";
  EXPECT_TRUE(is_pruned(*pruner, history, {5, 5, 5, 5}));
}

TEST(WilcoxonPruner, NeedsABestTrialWithReports) {
  History history;
  const auto pruner = make_wilcoxon_pruner({});
  EXPECT_FALSE(is_pruned(*pruner, history, {1, 2, 3, 4, 5, 6}));
  history.finish(history.add({}), TrialState::kComplete, {0}, 0);
  EXPECT_FALSE(is_pruned(*pruner, history, {1, 2, 3, 4, 5, 6})) << "it has no reports";
}

TEST(HalvingPruner, ContinuesTheBestQuarterAtEachRung) {
  History history;
  const auto pruner = make_halving_pruner({.min_resource = 1, .reduction_factor = 4});
  EXPECT_FALSE(is_pruned(*pruner, history, {5})) << "the first one is the best so far";
  EXPECT_TRUE(is_pruned(*pruner, history, {6}));
  EXPECT_FALSE(is_pruned(*pruner, history, {4}));
  EXPECT_FALSE(is_pruned(*pruner, history, {4, 9})) << "step 2 is not a rung";
  for (int i = 0; i < 8; ++i) add_trial(history, TrialState::kRunning, {9});
  EXPECT_FALSE(is_pruned(*pruner, history, {4.5})) << "third of twelve";
  EXPECT_FALSE(is_pruned(*pruner, history, {1, 1, 1, 3})) << "the first at rung 4";
  EXPECT_TRUE(is_pruned(*pruner, history, {1, 1, 1, 4}));
}

TEST(HalvingPruner, DerivesTheFirstRungFromACompleteTrial) {
  History history;
  const auto pruner = make_halving_pruner({});
  EXPECT_FALSE(is_pruned(*pruner, history, {9})) << "nothing is known yet";
  add_trial(history, TrialState::kComplete, std::vector<double>(300, 1.0));
  EXPECT_FALSE(is_pruned(*pruner, history, {9, 9})) << "rung 0 is step 3";
  EXPECT_TRUE(is_pruned(*pruner, history, {9, 9, 9}));
}

TEST(HyperbandPruner, HasBracketsWithDifferentFirstRungs) {
  EXPECT_EQ(hyperband_brackets(1, 9, 3), 3);
  EXPECT_EQ(hyperband_brackets(1, 8, 3), 2);
  std::vector<int> trials(3, 0);
  for (int number = 0; number < 3000; ++number)
    ++trials[static_cast<std::size_t>(hyperband_bracket(number, 3, 3))];
  // 9, 5 and 3 of 17 trials.
  EXPECT_NEAR(trials[0], 3000 * 9 / 17, 120);
  EXPECT_NEAR(trials[1], 3000 * 5 / 17, 120);
  EXPECT_NEAR(trials[2], 3000 * 3 / 17, 120);

  History history;
  const auto pruner = make_hyperband_pruner({.max_resource = 9});
  int pruned_at_once = 0;
  for (int i = 0; i < 100; ++i)
    pruned_at_once += is_pruned(*pruner, history, {static_cast<double>(i)});
  EXPECT_GT(pruned_at_once, 30) << "bracket 0 halves at step 1";
  EXPECT_LT(pruned_at_once, 75) << "the others do not";
}

}  // namespace
}  // namespace tutti::tune
