#include "tutti/tune/store/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"

namespace tutti::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFixedParameters = "fixed_params";  // of an enqueued trial: JSON by name

double wall_seconds() {
  return static_cast<double>(wall_ns()) * 1e-9;
}

// The value that an enqueued trial fixes; nullopt: none, or outside of the distribution.
std::optional<double> fixed_value(const Trial& trial, const std::string& name,
                                  const Distribution& distribution) {
  const auto at = trial.system_attributes.find(kFixedParameters);
  if (at == trial.system_attributes.end()) return std::nullopt;
  const Json fixed = Json::parse(at->second);
  if (!fixed.contains(name)) return std::nullopt;
  const Json& json = fixed[name];
  if (distribution.is_categorical()) {
    const auto choice =
        std::find_if(distribution.choices.begin(), distribution.choices.end(),
                     [&](const std::string& text) { return Json::parse(text) == json; });
    if (choice != distribution.choices.end()) {
      return static_cast<double>(choice - distribution.choices.begin());
    }
  } else if (json.is_number() && distribution.contains(json.get<double>())) {
    return json.get<double>();
  }
  log::warning(
      "Trial {}: the enqueued value {} of '{}' is not in its range. Another value is drawn.",
      trial.number, json.dump(), name);
  return std::nullopt;
}

void check_same_kind(const TrialParameter& known, const Distribution& distribution) {
  const bool is_same = known.distribution->kind == distribution.kind &&
                       known.distribution->is_log == distribution.is_log &&
                       known.distribution->choices == distribution.choices;
  if (!is_same) {
    throw ConfigError(
        "DDL-10-25",
        fmt::format("Parameter '{}' was a {} before and is a {} now. Use another name.", known.name,
                    to_json(*known.distribution), to_json(distribution)));
  }
}

void check_values(const History& history, TrialState state, const std::vector<double>& values) {
  if (state != TrialState::kComplete) return;
  if (values.size() != history.objectives()) {
    throw ConfigError(
        "DDL-10-27",
        fmt::format("The trial has {} values, but the study has {} objectives. Return one "
                    "number per objective.",
                    values.size(), history.objectives()));
  }
  for (const double value : values) {
    if (std::isnan(value)) {
      throw ConfigError(
          "DDL-10-27",
          "A value of the trial is not a number (NaN). Return a number, or let the trial fail.");
    }
  }
}

}  // namespace

Study::Study(std::vector<Direction> directions, std::shared_ptr<Sampler> sampler,
             std::shared_ptr<Pruner> pruner, std::optional<StoredStudy> stored)
    : history_(stored ? stored->file->load(stored->record) : History(std::move(directions))),
      sampler_(std::move(sampler)),
      pruner_(std::move(pruner)),
      stored_(std::move(stored)) {}

void Study::store(const std::vector<TrialChange>& changes) {
  if (stored_) stored_->file->apply(stored_->record, changes);
}

Trial& Study::running(std::int64_t number) {
  const bool exists = number >= 0 && number < static_cast<std::int64_t>(history_.trials().size());
  if (!exists || history_.trial(number).state != TrialState::kRunning) {
    throw ConfigError(
        "DDL-10-26",
        fmt::format("Trial {} is not running: {}. Only a running trial can be changed.", number,
                    exists ? name_of(history_.trial(number).state) : "unknown number"));
  }
  return history_.details(number);
}

std::int64_t Study::ask(const Space& space) {
  const MutexLock lock(mutex_);
  const std::vector<Trial>& trials = history_.trials();
  const auto waiting = std::find_if(trials.begin(), trials.end(), [](const Trial& one) {
    return one.state == TrialState::kWaiting;
  });
  const std::int64_t number = waiting != trials.end() ? waiting->number : history_.add({});
  Trial& trial = history_.details(number);
  trial.state = TrialState::kRunning;
  trial.started = wall_seconds();
  const std::size_t known = trial.parameters.size();
  const Attributes known_notes = trial.system_attributes;
  if (known == 0) draw_together(trial, space);
  std::vector<TrialChange> changes = {
      {.trial = &trial, .has_state = true, .new_parameters = trial.parameters.size() - known}};
  for (const auto& [key, json] : trial.system_attributes) {
    if (!known_notes.contains(key)) {
      changes.push_back({.trial = &trial, .attribute = key, .is_system_attribute = true});
    }
  }
  store(changes);
  return number;
}

// Draws the joint space. The values of a declared space are parameters of the trial at once; the others are kept until
// the program asks for them.
void Study::draw_together(Trial& trial, const Space& space) {
  const Space joint = space.empty() ? sampler_->joint_space(history_) : space;
  if (joint.empty()) return;
  Suggestion suggestion = sampler_->suggest(history_, joint, trial.number);
  for (const auto& [key, value] : suggestion.notes) {
    trial.system_attributes[key] = value;
  }
  for (std::size_t i = 0; i < joint.size(); ++i) {
    if (const auto fixed = fixed_value(trial, joint[i].name, joint[i].distribution))
      suggestion.values[i] = *fixed;
  }
  if (space.empty()) {
    joint_draws_[trial.number] = {joint, suggestion.values};
    return;
  }
  const std::vector<bool> active = active_parameters(joint, suggestion.values);
  for (std::size_t i = 0; i < joint.size(); ++i) {
    if (active[i])
      history_.set_parameter(trial.number, joint[i].name, joint[i].distribution,
                             suggestion.values[i]);
  }
}

double Study::draw(const Trial& trial, const std::string& name, const Distribution& distribution) {
  if (const auto fixed = fixed_value(trial, name, distribution)) return *fixed;
  if (distribution.is_single()) return distribution.low;
  const auto joint = joint_draws_.find(trial.number);
  if (joint != joint_draws_.end()) {
    for (std::size_t i = 0; i < joint->second.space.size(); ++i) {
      const Parameter& parameter = joint->second.space[i];
      if (parameter.name == name && parameter.distribution.kind == distribution.kind &&
          parameter.distribution.choices == distribution.choices &&
          distribution.contains(joint->second.values[i])) {
        return joint->second.values[i];
      }
    }
  }
  return sampler_->suggest_alone(history_, {name, distribution}, trial.number);
}

void Study::check_known(const Trial& trial, const std::string& name,
                        const Distribution& distribution) {
  if (const TrialParameter* known = trial.find(name)) check_same_kind(*known, distribution);
  const Column* column = history_.column(name);
  if (column && column->distribution)
    check_same_kind({name, column->distribution, 0}, distribution);
}

double Study::suggest(std::int64_t number, const std::string& name,
                      const Distribution& distribution) {
  const Distribution valid = checked(name, distribution);
  const MutexLock lock(mutex_);
  Trial& trial = running(number);
  check_known(trial, name, valid);
  if (const TrialParameter* known = trial.find(name)) return known->value;
  const double value = draw(trial, name, valid);
  history_.set_parameter(number, name, valid, value);
  store({{.trial = &trial, .new_parameters = 1}});
  return value;
}

void Study::set_parameter(std::int64_t number, const std::string& name,
                          const Distribution& distribution, double value) {
  const Distribution valid = checked(name, distribution);
  const MutexLock lock(mutex_);
  Trial& trial = running(number);
  check_known(trial, name, valid);
  if (trial.find(name)) return;
  history_.set_parameter(number, name, valid, value);
  store({{.trial = &trial, .new_parameters = 1}});
}

void Study::report(std::int64_t number, std::int64_t step, double value) {
  const MutexLock lock(mutex_);
  Trial& trial = running(number);
  const Report report{step, value};
  history_.report(number, report);
  store({{.trial = &trial, .report = &report}});
}

bool Study::should_prune(std::int64_t number) {
  const MutexLock lock(mutex_);
  return pruner_->should_prune(history_, history_.trial(number));
}

void Study::tell(std::int64_t number, TrialState state, const std::vector<double>& values,
                 const std::vector<Report>& reports) {
  const MutexLock lock(mutex_);
  Trial& trial = running(number);
  check_values(history_, state, values);
  history_.finish(number, state, values, wall_seconds());
  joint_draws_.erase(number);
  std::vector<TrialChange> changes = {{.trial = &trial, .has_state = true}};
  for (const Report& report : reports) {
    history_.report(number, report);
    changes.push_back({.trial = &trial, .report = &report});
  }
  store(changes);
}

void Study::set_constraints(std::int64_t number, const std::vector<double>& constraints) {
  const MutexLock lock(mutex_);
  Trial& trial = history_.details(number);
  trial.constraints = constraints;
  store({{.trial = &trial, .has_state = true}});
}

void Study::set_attribute(std::int64_t number, bool is_system, const std::string& key,
                          const std::string& json) {
  const MutexLock lock(mutex_);
  Trial& trial = history_.details(number);
  (is_system ? trial.system_attributes : trial.user_attributes)[key] = json;
  store({{.trial = &trial, .attribute = key, .is_system_attribute = is_system}});
}

std::int64_t Study::enqueue(const Attributes& parameters) {
  Json fixed = Json::object();
  for (const auto& [name, json] : parameters) fixed[name] = Json::parse(json);
  Trial trial;
  trial.state = TrialState::kWaiting;
  trial.system_attributes[kFixedParameters] = fixed.dump();
  return add(trial);
}

std::int64_t Study::add(const Trial& trial) {
  const MutexLock lock(mutex_);
  const std::int64_t number = history_.add(trial);
  const Trial& added = history_.trial(number);
  std::vector<TrialChange> changes = {
      {.trial = &added, .has_state = true, .new_parameters = added.parameters.size()}};
  for (const Report& report : added.reports)
    changes.push_back({.trial = &added, .report = &report});
  for (const auto& [key, json] : added.user_attributes)
    changes.push_back({.trial = &added, .attribute = key});
  for (const auto& [key, json] : added.system_attributes) {
    changes.push_back({.trial = &added, .attribute = key, .is_system_attribute = true});
  }
  store(changes);
  return number;
}

void Study::requeue(std::int64_t number) {
  const MutexLock lock(mutex_);
  Trial& trial = running(number);
  trial.state = TrialState::kWaiting;
  store({{.trial = &trial, .has_state = true}});
}

bool Study::is_exhausted() {
  const MutexLock lock(mutex_);
  const bool has_waiting = history_.count(TrialState::kWaiting) > 0;
  return !has_waiting && sampler_->is_exhausted(history_);
}

std::string Study::reason() {
  const MutexLock lock(mutex_);
  return sampler_->reason();
}

Trial Study::trial(std::int64_t number) {
  const MutexLock lock(mutex_);
  return history_.trial(number);
}

std::size_t Study::size() {
  const MutexLock lock(mutex_);
  return history_.trials().size();
}

History Study::history() {
  const MutexLock lock(mutex_);
  return history_;
}

void Study::replace_sampler(std::shared_ptr<Sampler> sampler) {
  const MutexLock lock(mutex_);
  sampler_ = std::move(sampler);
}

void Study::replace_pruner(std::shared_ptr<Pruner> pruner) {
  const MutexLock lock(mutex_);
  pruner_ = std::move(pruner);
}

}  // namespace tutti::tune
