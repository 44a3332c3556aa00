#include <algorithm>
#include <cmath>
#include <limits>

#include "tutti/tune/prune/pruner.h"

namespace tutti::tune {
namespace {

class NoPruner : public Pruner {
 public:
  bool should_prune(const History&, const Trial&) const override { return false; }
};

// The best report so far; NaN if all are NaN.
double best_report(const History& history, const Trial& trial) {
  double best = std::numeric_limits<double>::quiet_NaN();
  for (const Report& report : trial.reports) {
    const double loss = history.signed_report(report.value);
    if (!(best <= loss) && !std::isnan(loss)) best = loss;
  }
  return best;
}

const Report* report_at(const Trial& trial, std::int64_t step) {
  const auto at = std::lower_bound(
      trial.reports.begin(), trial.reports.end(), step,
      [](const Report& report, std::int64_t wanted) { return report.step < wanted; });
  return at != trial.reports.end() && at->step == step ? &*at : nullptr;
}

// Linear interpolation between the neighbouring values.
double percentile_of(std::vector<double> values, double percentile) {
  std::sort(values.begin(), values.end());
  const double at = percentile / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

class PercentilePruner : public Pruner {
 public:
  explicit PercentilePruner(const PercentileOptions& options) : options_(options) {}

  bool should_prune(const History& history, const Trial& trial) const override {
    if (trial.reports.empty() || !options_.steps.is_due(trial)) return false;
    const std::int64_t step = trial.reports.back().step;
    std::size_t complete = 0;
    std::vector<double> losses;
    for (const Trial& other : history.trials()) {
      if (other.state != TrialState::kComplete) continue;
      ++complete;
      const Report* report = report_at(other, step);
      if (report && !std::isnan(report->value))
        losses.push_back(history.signed_report(report->value));
    }
    if (complete == 0 || complete < options_.startup_trials) return false;
    const double best = best_report(history, trial);
    if (std::isnan(best)) return true;
    if (losses.size() < std::max<std::size_t>(options_.min_trials, 1)) return false;
    return best > percentile_of(std::move(losses), options_.percentile);
  }

 private:
  PercentileOptions options_;
};

class ThresholdPruner : public Pruner {
 public:
  explicit ThresholdPruner(const ThresholdOptions& options) : options_(options) {}

  bool should_prune(const History&, const Trial& trial) const override {
    if (trial.reports.empty() || !options_.steps.is_due(trial)) return false;
    const double value = trial.reports.back().value;
    return !(value >= options_.lower && value <= options_.upper);
  }

 private:
  ThresholdOptions options_;
};

class PatientPruner : public Pruner {
 public:
  PatientPruner(std::unique_ptr<Pruner> inner, std::int64_t patience, double min_improvement)
      : inner_(std::move(inner)), patience_(patience), min_improvement_(min_improvement) {}

  bool should_prune(const History& history, const Trial& trial) const override {
    if (static_cast<std::int64_t>(trial.reports.size()) <= patience_ + 1) return false;
    const auto recent = trial.reports.end() - (patience_ + 1);
    const double before = smallest(history, trial.reports.begin(), recent);
    const double after = smallest(history, recent, trial.reports.end());
    const bool has_stalled = before + min_improvement_ < after;
    return has_stalled && (!inner_ || inner_->should_prune(history, trial));
  }

 private:
  template <class Iterator>
  static double smallest(const History& history, Iterator begin, Iterator end) {
    double result = std::numeric_limits<double>::quiet_NaN();
    for (; begin != end; ++begin) {
      const double loss = history.signed_report(begin->value);
      if (!(result <= loss) && !std::isnan(loss)) result = loss;
    }
    return result;
  }

  std::unique_ptr<Pruner> inner_;
  std::int64_t patience_;
  double min_improvement_;
};

}  // namespace

bool PruningSteps::is_due(const Trial& trial) const {
  const std::int64_t last = trial.reports.back().step;
  if (last < warmup_steps) return false;
  const std::int64_t boundary =
      warmup_steps + (last - warmup_steps) / interval_steps * interval_steps;
  const std::size_t count = trial.reports.size();
  return count < 2 || trial.reports[count - 2].step < boundary;
}

std::unique_ptr<Pruner> make_no_pruner() {
  return std::make_unique<NoPruner>();
}

std::unique_ptr<Pruner> make_percentile_pruner(const PercentileOptions& options) {
  return std::make_unique<PercentilePruner>(options);
}

std::unique_ptr<Pruner> make_threshold_pruner(const ThresholdOptions& options) {
  return std::make_unique<ThresholdPruner>(options);
}

std::unique_ptr<Pruner> make_patient_pruner(std::unique_ptr<Pruner> inner, std::int64_t patience,
                                            double min_improvement) {
  return std::make_unique<PatientPruner>(std::move(inner), patience, min_improvement);
}

}  // namespace tutti::tune
