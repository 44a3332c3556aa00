// Pruners: whether to stop a trial early, by comparing its reports with those of other trials.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tutti/tune/history.h"

namespace tutti::tune {

// A pruner is a function of the history: it keeps no state, so a resumed study prunes the same trials. It looks at the
// first objective only, and may be asked after each report.
class Pruner {
 public:
  virtual ~Pruner() = default;
  virtual bool should_prune(const History& history, const Trial& trial) const = 0;
};

// Steps at which a pruner decides: from `warmup_steps` on, every `interval_steps`.
struct PruningSteps {
  std::int64_t warmup_steps = 0;
  std::int64_t interval_steps = 1;

  // True if `trial` has reported for the first time since the last of these steps.
  bool is_due(const Trial& trial) const;
};

// Never prunes.
std::unique_ptr<Pruner> make_no_pruner();

// Prunes a trial whose best report is worse than the given percentile of the reports of complete trials at its last
// step. 25 keeps the best quarter; the median pruner keeps the better half.
struct PercentileOptions {
  double percentile = 50;
  std::size_t startup_trials = 5;  // complete trials before the first decision
  PruningSteps steps = {};
  std::size_t min_trials = 1;  // complete trials with a report at that step
};
std::unique_ptr<Pruner> make_percentile_pruner(const PercentileOptions& options);

// Prunes a trial with a report that is NaN or outside of [lower, upper].
struct ThresholdOptions {
  double lower, upper;
  PruningSteps steps = {};
};
std::unique_ptr<Pruner> make_threshold_pruner(const ThresholdOptions& options);

// Asks `inner` only if the last `patience` reports did not improve on the ones before by `min_improvement`. Without
// `inner`, prunes then.
std::unique_ptr<Pruner> make_patient_pruner(std::unique_ptr<Pruner> inner, std::int64_t patience,
                                            double min_improvement);

// Asynchronous successive halving. A trial continues at step min_resource * reduction_factor^(rung + skipped_rungs) if
// it is among the best 1/reduction_factor of the trials that have reached that rung.
struct HalvingOptions {
  std::int64_t min_resource =
      0;  // 0: a hundredth of the last step of the first complete trial, at least 1
  int reduction_factor = 4;
  int skipped_rungs = 0;
  std::size_t bootstrap_count = 0;  // trials that a rung must have before any is promoted
};
std::unique_ptr<Pruner> make_halving_pruner(const HalvingOptions& options);

// Hyperband: several successive halvings (brackets) with different numbers of skipped rungs. A trial belongs to the
// bracket given by its number, more often to those that start with few steps.
struct HyperbandOptions {
  std::int64_t min_resource = 1;
  std::int64_t max_resource = 0;  // 0: the largest step of a complete trial
  int reduction_factor = 3;
  std::size_t bootstrap_count = 0;
};
std::unique_ptr<Pruner> make_hyperband_pruner(const HyperbandOptions& options);

// Prunes a trial that is worse than the best one by Wilcoxon's signed-rank test: its reports are paired with those of
// the best trial at the same steps, in any order, such as the folds of a cross-validation.
struct WilcoxonOptions {
  double p_threshold = 0.1;       // smaller: prunes less
  std::size_t startup_steps = 2;  // pairs before the first decision, at least 2
};
std::unique_ptr<Pruner> make_wilcoxon_pruner(const WilcoxonOptions& options);

// Number of brackets for these steps, and the bracket of a trial.
int hyperband_brackets(std::int64_t min_resource, std::int64_t max_resource, int reduction_factor);
int hyperband_bracket(std::int64_t number, int brackets, int reduction_factor);

}  // namespace tutti::tune
