// One evaluation of the objective: parameters, state and results.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tutti/tune/distribution.h"

namespace tutti::tune {

// The numbers are part of the study file.
enum class TrialState { kRunning = 0, kComplete = 1, kPruned = 2, kFailed = 3, kWaiting = 4 };

constexpr bool is_finished(TrialState state) {
  return state != TrialState::kRunning && state != TrialState::kWaiting;
}
std::string_view name_of(TrialState state);  // "running", "complete", ...

enum class Direction { kMinimize, kMaximize };

// An intermediate value of the first objective.
struct Report {
  std::int64_t step = 0;
  double value = 0;  // may be NaN
};

struct TrialParameter {
  std::string name;
  std::shared_ptr<const Distribution> distribution;  // shared by the trials of a study
  double value = 0;                                  // of an index, if categorical
};

using Attributes = std::map<std::string, std::string>;  // values are JSON

struct Trial {
  std::int64_t number = 0;  // 0, 1, ... in the order of creation
  TrialState state = TrialState::kRunning;
  std::vector<TrialParameter> parameters;  // in the order in which they were drawn
  std::vector<double> values;   // one per objective; of a pruned trial: the last report, or empty
  std::vector<Report> reports;  // ascending steps
  std::vector<double> constraints;  // violated if positive; empty: none
  Attributes user_attributes, system_attributes;
  double started = 0, ended = 0;  // Unix time in seconds; 0: not yet

  // Complete or pruned: its parameters have a known effect.
  bool is_informative() const {
    return state == TrialState::kComplete || state == TrialState::kPruned;
  }
  const TrialParameter* find(const std::string& name) const;
  // Sum of the positive constraints; 0: feasible.
  double violation() const;
};

}  // namespace tutti::tune
