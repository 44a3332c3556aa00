// All trials of a study, also by column.
//
// A sampler looks at one parameter of thousands of trials at a time, so every parameter is also a column of numbers,
// indexed by the number of the trial. Losses are the values with the sign that makes smaller better.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tutti/tune/space.h"
#include "tutti/tune/trial.h"

namespace tutti::tune {

// One parameter of all trials. Distributions may change between trials; `distribution` is the latest.
struct Column {
  std::shared_ptr<const Distribution> distribution;
  std::vector<double> values;  // NaN: the trial does not have the parameter
};

// Not thread-safe. Invariant: trials()[n].number == n.
class History {
 public:
  explicit History(std::vector<Direction> directions = {Direction::kMinimize});

  const std::vector<Direction>& directions() const { return directions_; }
  std::size_t objectives() const { return directions_.size(); }
  const std::vector<Trial>& trials() const { return trials_; }
  const Trial& trial(std::int64_t number) const {
    return trials_[static_cast<std::size_t>(number)];
  }
  std::size_t count(TrialState state) const;

  // Appends a trial and returns its number. The number of `trial` is ignored.
  std::int64_t add(Trial trial);
  void set_parameter(std::int64_t number, const std::string& name, const Distribution& distribution,
                     double value);
  void report(std::int64_t number, Report report);  // replaces a report of the same step
  void set_state(std::int64_t number, TrialState state);
  void finish(std::int64_t number, TrialState state, std::vector<double> values, double ended);
  // The parts of a trial that no column depends on: constraints, attributes and times.
  Trial& details(std::int64_t number) { return trials_[static_cast<std::size_t>(number)]; }

  // nullptr: no trial has the parameter.
  const Column* column(const std::string& name) const;
  // Names of the columns in the order of their first appearance.
  const std::vector<std::string>& column_names() const { return names_; }

  // Value of an objective with the sign that makes smaller better.
  double loss(const Trial& trial, std::size_t objective = 0) const {
    const double value = trial.values[objective];
    return directions_[objective] == Direction::kMinimize ? value : -value;
  }
  double signed_report(double value) const {
    return directions_[0] == Direction::kMinimize ? value : -value;
  }
  // The best complete and feasible trial of a single objective; nullptr: none yet.
  const Trial* best() const;
  // Complete and feasible trials that no other one dominates, in the order of their numbers.
  std::vector<std::int64_t> pareto_front() const;

 private:
  Column& column_of(const std::string& name);

  std::vector<Direction> directions_;
  std::vector<Trial> trials_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, Column> columns_;
};

// Parameters that every complete and pruned trial has, with their latest distributions, ordered by name.
Space intersection_space(const History& history);
// Parameters that any complete or pruned trial has.
Space union_space(const History& history);

// True if no loss of `a` is larger and one is smaller.
bool dominates(const History& history, const Trial& a, const Trial& b);

}  // namespace tutti::tune
