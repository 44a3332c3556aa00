#include "tutti/tune/history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tutti::tune {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

bool is_candidate(const Trial& trial) {
  return trial.state == TrialState::kComplete && trial.violation() == 0;
}

}  // namespace

History::History(std::vector<Direction> directions) : directions_(std::move(directions)) {}

std::size_t History::count(TrialState state) const {
  return static_cast<std::size_t>(std::count_if(
      trials_.begin(), trials_.end(), [&](const Trial& one) { return one.state == state; }));
}

Column& History::column_of(const std::string& name) {
  const auto [at, is_new] = columns_.try_emplace(name);
  if (is_new) {
    names_.push_back(name);
    at->second.values.assign(trials_.size(), kAbsent);
  }
  return at->second;
}

const Column* History::column(const std::string& name) const {
  const auto at = columns_.find(name);
  return at == columns_.end() ? nullptr : &at->second;
}

std::int64_t History::add(Trial trial) {
  const auto number = static_cast<std::int64_t>(trials_.size());
  trial.number = number;
  const std::vector<TrialParameter> parameters = std::exchange(trial.parameters, {});
  trials_.push_back(std::move(trial));
  for (auto& [name, column] : columns_) column.values.push_back(kAbsent);
  for (const TrialParameter& one : parameters) {
    set_parameter(number, one.name, *one.distribution, one.value);
  }
  return number;
}

void History::set_parameter(std::int64_t number, const std::string& name,
                            const Distribution& distribution, double value) {
  Column& column = column_of(name);
  if (!column.distribution || *column.distribution != distribution) {
    column.distribution = std::make_shared<const Distribution>(distribution);
  }
  column.values[static_cast<std::size_t>(number)] = value;
  details(number).parameters.push_back({name, column.distribution, value});
}

void History::report(std::int64_t number, Report report) {
  std::vector<Report>& reports = details(number).reports;
  const auto at =
      std::lower_bound(reports.begin(), reports.end(), report.step,
                       [](const Report& one, std::int64_t step) { return one.step < step; });
  if (at != reports.end() && at->step == report.step) {
    *at = report;
  } else {
    reports.insert(at, report);
  }
}

void History::set_state(std::int64_t number, TrialState state) {
  details(number).state = state;
}

void History::finish(std::int64_t number, TrialState state, std::vector<double> values,
                     double ended) {
  Trial& trial = details(number);
  trial.state = state;
  trial.values = std::move(values);
  trial.ended = ended;
}

const Trial* History::best() const {
  const Trial* best = nullptr;
  for (const Trial& trial : trials_) {
    if (is_candidate(trial) && (!best || loss(trial) < loss(*best))) best = &trial;
  }
  return best;
}

std::vector<std::int64_t> History::pareto_front() const {
  std::vector<std::int64_t> front;
  for (const Trial& trial : trials_) {
    if (!is_candidate(trial)) continue;
    const bool is_dominated = std::any_of(trials_.begin(), trials_.end(), [&](const Trial& other) {
      return is_candidate(other) && dominates(*this, other, trial);
    });
    if (!is_dominated) front.push_back(trial.number);
  }
  return front;
}

Space union_space(const History& history) {
  Space space;
  for (const std::string& name : history.column_names()) {
    const Column& column = *history.column(name);
    for (std::size_t i = 0; i < column.values.size(); ++i) {
      if (std::isnan(column.values[i]) || !history.trials()[i].is_informative()) continue;
      space.push_back({name, *column.distribution});
      break;
    }
  }
  std::sort(space.begin(), space.end(),
            [](const Parameter& a, const Parameter& b) { return a.name < b.name; });
  return space;
}

Space intersection_space(const History& history) {
  Space space = union_space(history);
  std::erase_if(space, [&](const Parameter& parameter) {
    const Column& column = *history.column(parameter.name);
    for (const Trial& trial : history.trials()) {
      const double value = column.values[static_cast<std::size_t>(trial.number)];
      if (trial.is_informative() && std::isnan(value)) return true;
    }
    return false;
  });
  return space;
}

bool dominates(const History& history, const Trial& a, const Trial& b) {
  bool is_better = false;
  for (std::size_t i = 0; i < history.objectives(); ++i) {
    const double loss_a = history.loss(a, i), loss_b = history.loss(b, i);
    if (loss_a > loss_b) return false;
    is_better = is_better || loss_a < loss_b;
  }
  return is_better;
}

}  // namespace tutti::tune
