// Asynchronous successive halving and Hyperband.
//
// Rung r of a bracket that skips s rungs is at step min_resource * factor^(r + s). The value of a trial at a rung is
// its first report at or after that step. A trial that reaches a rung is compared with all trials of its bracket that
// have reached it so far, without waiting for others. It continues if it is among the best 1/factor of them, rounded
// down, but at least the best one continues.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "tutti/core/random.h"
#include "tutti/tune/prune/pruner.h"

namespace tutti::tune {
namespace {

using Members = std::vector<const Trial*>;

// Loss of the first report at or after `step`; NaN counts as the worst.
std::optional<double> loss_at_rung(const History& history, const Trial& trial, double step) {
  for (const Report& report : trial.reports) {
    if (static_cast<double>(report.step) < step) continue;
    const double loss = history.signed_report(report.value);
    return std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss;
  }
  return std::nullopt;
}

double step_of_rung(std::int64_t min_resource, int factor, int rung) {
  return static_cast<double>(min_resource) * std::pow(factor, rung);
}

bool is_promoted(const History& history, const Members& members, double own_loss, double step,
                 int factor, std::size_t bootstrap_count) {
  std::size_t reached = 0, better = 0;
  for (const Trial* member : members) {
    const std::optional<double> loss = loss_at_rung(history, *member, step);
    if (!loss) continue;
    ++reached;
    if (*loss < own_loss) ++better;
  }
  if (reached <= bootstrap_count) return false;
  return better < std::max<std::size_t>(reached / static_cast<std::size_t>(factor), 1);
}

// True if the last report reached a rung at which the trial is not promoted.
bool fails_at_rung(const History& history, const Trial& trial, const Members& members,
                   std::int64_t min_resource, const HalvingOptions& options) {
  const Report& last = trial.reports.back();
  const std::size_t reports = trial.reports.size();
  for (int rung = options.skipped_rungs;; ++rung) {
    const double step = step_of_rung(min_resource, options.reduction_factor, rung);
    if (static_cast<double>(last.step) < step) return false;
    const bool was_decided_before =
        reports > 1 && static_cast<double>(trial.reports[reports - 2].step) >= step;
    if (was_decided_before) continue;
    if (std::isnan(last.value)) return true;
    const double loss = history.signed_report(last.value);
    if (!is_promoted(history, members, loss, step, options.reduction_factor,
                     options.bootstrap_count)) {
      return true;
    }
  }
}

std::int64_t largest_complete_step(const History& history) {
  std::int64_t largest = 0;
  for (const Trial& trial : history.trials()) {
    if (trial.state == TrialState::kComplete && !trial.reports.empty()) {
      largest = std::max(largest, trial.reports.back().step);
    }
  }
  return largest;
}

std::int64_t first_complete_step(const History& history) {
  for (const Trial& trial : history.trials()) {
    if (trial.state == TrialState::kComplete && !trial.reports.empty())
      return trial.reports.back().step;
  }
  return 0;
}

class HalvingPruner : public Pruner {
 public:
  explicit HalvingPruner(const HalvingOptions& options) : options_(options) {}

  bool should_prune(const History& history, const Trial& trial) const override {
    if (trial.reports.empty()) return false;
    std::int64_t min_resource = options_.min_resource;
    if (min_resource == 0) {
      const std::int64_t last = first_complete_step(history);
      if (last == 0) return false;  // no trial has shown yet how many steps there are
      min_resource = std::max<std::int64_t>(last / 100, 1);
    }
    Members members;
    for (const Trial& other : history.trials()) members.push_back(&other);
    return fails_at_rung(history, trial, members, min_resource, options_);
  }

 private:
  HalvingOptions options_;
};

class HyperbandPruner : public Pruner {
 public:
  explicit HyperbandPruner(const HyperbandOptions& options) : options_(options) {}

  bool should_prune(const History& history, const Trial& trial) const override {
    if (trial.reports.empty()) return false;
    const std::int64_t most =
        options_.max_resource > 0 ? options_.max_resource : largest_complete_step(history);
    if (most < options_.min_resource) return false;
    const int factor = options_.reduction_factor;
    const int brackets = hyperband_brackets(options_.min_resource, most, factor);
    const int bracket = hyperband_bracket(trial.number, brackets, factor);
    Members members;
    for (const Trial& other : history.trials()) {
      if (hyperband_bracket(other.number, brackets, factor) == bracket) members.push_back(&other);
    }
    return fails_at_rung(history, trial, members, options_.min_resource,
                         {options_.min_resource, factor, bracket, options_.bootstrap_count});
  }

 private:
  HyperbandOptions options_;
};

}  // namespace

int hyperband_brackets(std::int64_t min_resource, std::int64_t max_resource, int reduction_factor) {
  int brackets = 1;
  double step = static_cast<double>(min_resource) * reduction_factor;
  for (; step <= static_cast<double>(max_resource); step *= reduction_factor) ++brackets;
  return brackets;
}

int hyperband_bracket(std::int64_t number, int brackets, int reduction_factor) {
  // A bracket that skips s rungs gets as many trials as cost the same as those of the others.
  std::vector<double> budgets;
  double total = 0;
  for (int skipped = 0; skipped < brackets; ++skipped) {
    const int rungs = brackets - 1 - skipped;
    budgets.push_back(std::ceil(brackets * std::pow(reduction_factor, rungs) / (rungs + 1)));
    total += budgets.back();
  }
  double draw = unit_interval(split_mix(static_cast<std::uint64_t>(number))) * total;
  for (int skipped = 0; skipped < brackets - 1; ++skipped) {
    draw -= budgets[static_cast<std::size_t>(skipped)];
    if (draw < 0) return skipped;
  }
  return brackets - 1;
}

std::unique_ptr<Pruner> make_halving_pruner(const HalvingOptions& options) {
  return std::make_unique<HalvingPruner>(options);
}

std::unique_ptr<Pruner> make_hyperband_pruner(const HyperbandOptions& options) {
  return std::make_unique<HyperbandPruner>(options);
}

}  // namespace tutti::tune
