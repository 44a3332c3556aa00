#include "tutti/tune/run/tuner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tutti/core/error.h"
#include "tutti/os/cpus.h"
#include "tutti/os/shell.h"

namespace tutti::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFailures = "tutti:failures";      // of a trial so far
constexpr const char* kReason = "tutti:failure_reason";  // of the last one
constexpr int kPollMilliseconds = 100;
constexpr double kGraceSeconds = 10;  // between SIGTERM and SIGKILL
constexpr std::size_t kFirstTrials = 3;

enum class Executor { kLocal, kSlurm, kDdlrun };

int failures_of(const Trial& trial) {
  const auto at = trial.system_attributes.find(kFailures);
  return at == trial.system_attributes.end() ? 0 : std::stoi(at->second);
}

}  // namespace

Tuner::Tuner(const StudySpec& spec, Study& study, std::filesystem::path folder, TunerEvents events)
    : spec_(spec),
      options_(options_of(spec)),
      study_(study),
      folder_(std::move(folder)),
      events_(std::move(events)) {}

int Tuner::recover() {
  int count = 0;
  const History history = study_.history();
  for (const Trial& trial : history.trials()) {
    if (trial.state != TrialState::kRunning) continue;
    study_.requeue(trial.number);
    ++count;
  }
  return count;
}

bool Tuner::run(int stop_fd) {
  while (true) {
    while (!is_stopped_ && may_start()) start();
    if (running_.empty()) return !is_stopped_;
    wait(stop_fd);
    if (is_stopped_) {
      stop_all();
      return false;
    }
    std::erase_if(running_, [&](TrialProcess& trial) { return check(trial); });
    if (!systematic_failure_.empty()) {
      stop_all();
      throw ConfigError("DDL-10-35", systematic_failure_);
    }
    if (events_.tick) events_.tick();
  }
}

bool Tuner::may_start() const {
  if (running_.size() >= static_cast<std::size_t>(options_.integer("parallel"))) return false;
  const double timeout = options_.number("timeout");
  if (timeout > 0 && watch_.seconds() > timeout) return false;
  const auto trials = static_cast<std::size_t>(options_.integer("trials"));
  const auto [has_waiting, is_full] = study_.inspect([&](const History& history) {
    return std::pair(history.count(TrialState::kWaiting) > 0,
                     trials > 0 && history.trials().size() >= trials);
  });
  return has_waiting || (!is_full && !study_.is_exhausted());
}

std::size_t Tuner::free_slot() const {
  for (std::size_t slot = 0;; ++slot) {
    const bool is_taken = std::any_of(slots_.begin(), slots_.end(),
                                      [&](const auto& one) { return one.second == slot; });
    if (!is_taken) return slot;
  }
}

Placement Tuner::placement(std::size_t slot) const {
  const std::vector<std::string> arguments = os::split_words(options_.text("executor_options"));
  Placement placement;
  const auto launch_with = [&](const char* program) {
    placement.launcher.emplace_back(program);
    placement.launcher.insert(placement.launcher.end(), arguments.begin(), arguments.end());
  };
  switch (options_.choice<Executor>("executor")) {
    case Executor::kSlurm: launch_with("srun"); return placement;
    case Executor::kDdlrun: launch_with("ddlrun"); return placement;
    case Executor::kLocal: break;
  }
  const std::vector<int> cpus = os::allowed_cpus();
  const auto parallel = static_cast<std::size_t>(options_.integer("parallel"));
  std::size_t cores = static_cast<std::size_t>(options_.integer("cores"));
  if (cores == 0) cores = std::max<std::size_t>(cpus.size() / parallel, 1);
  for (std::size_t i = 0; i < std::min(cores, cpus.size()); ++i) {
    placement.cpus.push_back(cpus[(slot * cores + i) % cpus.size()]);
  }
  return placement;
}

void Tuner::start() {
  const std::int64_t number = study_.ask(spec_.space);
  const Trial trial = study_.trial(number);
  const std::size_t slot = free_slot();
  try {
    running_.emplace_back(spec_, trial, folder_, placement(slot));
  } catch (const Error&) {
    study_.requeue(number);
    throw;
  }
  slots_[number] = slot;
  if (events_.started) events_.started(trial);
}

void Tuner::wait(int stop_fd) {
  std::vector<pollfd> files = {{stop_fd, POLLIN, 0}};
  for (TrialProcess& trial : running_) files.push_back({trial.process().end_fd(), POLLIN, 0});
  poll(files.data(), files.size(), kPollMilliseconds);
  is_stopped_ = (files.front().revents & POLLIN) != 0;
}

bool Tuner::check(TrialProcess& trial) {
  if (trial.process().has_ended()) {  // before its results are read, so none is missed
    finish(trial, End::kItself);
    return true;
  }
  report(trial);
  const double limit = options_.number("trial_timeout");
  const bool is_too_late = limit > 0 && trial.seconds() > limit;
  if (!is_too_late && !study_.should_prune(trial.number())) return false;
  trial.process().signal_group(SIGTERM);
  trial.process().wait_for_end(kGraceSeconds);
  trial.process().stop(0);
  finish(trial, is_too_late ? End::kTimeLimit : End::kPruned);
  return true;
}

void Tuner::report(TrialProcess& trial) {
  for (const Report& report : trial.results().poll())
    study_.report(trial.number(), report.step, report.value);
}

Tuner::Result Tuner::result_of(TrialProcess& process, End end) {
  if (end == End::kPruned) {
    const std::vector<Report> reports = study_.trial(process.number()).reports;
    return {TrialState::kPruned,
            {},
            fmt::format("pruned at step {}", reports.empty() ? 0 : reports.back().step)};
  }
  if (end == End::kTimeLimit) {
    return {TrialState::kFailed,
            {},
            fmt::format("exceeded its time limit of {} s", options_.number("trial_timeout"))};
  }
  if (!process.process().succeeded())
    return {TrialState::kFailed, {}, process.process().how_it_ended()};
  const auto values = process.results().final_values();
  if (!values) {
    std::vector<std::string> names;
    for (const Objective& objective : spec_.objectives)
      names.push_back(objective.metric.empty() ? "a metric" : objective.metric);
    const std::vector<std::string> seen = process.results().seen_metrics();
    return {TrialState::kFailed,
            {},
            fmt::format("reported no value of {}; metrics it reported: {}", fmt::join(names, ", "),
                        seen.empty() ? "none" : fmt::format("{}", fmt::join(seen, ", ")))};
  }
  for (const double value : *values) {
    if (std::isnan(value)) return {TrialState::kFailed, {}, "its metric is not a number (NaN)"};
  }
  return {TrialState::kComplete, *values, ""};
}

void Tuner::finish(TrialProcess& process, End end) {
  const std::int64_t number = process.number();
  const std::vector<Report> reports = process.results().poll();
  const Result result = result_of(process, end);
  slots_.erase(number);
  bool is_retried = false;
  if (result.state == TrialState::kFailed) {
    const int failures = failures_of(study_.trial(number)) + 1;
    study_.set_attribute(number, true, kFailures, std::to_string(failures));
    study_.set_attribute(number, true, kReason, Json(result.reason).dump());
    is_retried = failures <= options_.integer("retries");
  }
  if (is_retried) {
    study_.requeue(number);
  } else {
    study_.tell(number, result.state, result.values, reports);
  }
  if (events_.ended) events_.ended(study_.trial(number), result.reason);
  if (result.state == TrialState::kFailed && !is_retried)
    check_first_trials(result.reason, process.folder());
}

void Tuner::check_first_trials(const std::string& reason, const std::filesystem::path& folder) {
  const History history = study_.history();
  const std::size_t failed = history.count(TrialState::kFailed);
  const bool any_succeeded =
      history.count(TrialState::kComplete) + history.count(TrialState::kPruned) > 0;
  if (failed < kFirstTrials || any_succeeded) return;
  systematic_failure_ = fmt::format(
      "The first {} trials failed; the last one {}. Read {}, correct the program, and continue the "
      "study.",
      failed, reason, (folder / kOutputFile).string());
}

// Running trials wait for the next start; what they reported is kept.
void Tuner::stop_all() {
  for (TrialProcess& trial : running_) trial.process().signal_group(SIGTERM);
  for (TrialProcess& trial : running_) {
    trial.process().wait_for_end(kGraceSeconds);
    trial.process().stop(0);
    report(trial);
    study_.requeue(trial.number());
  }
  running_.clear();
  slots_.clear();
}

}  // namespace tutti::tune
