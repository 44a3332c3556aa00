#include "apps/tutti/tune_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tutti/core/clock.h"
#include "tutti/os/output_file.h"
#include "tutti/plot/bars.h"
#include "tutti/plot/chart.h"
#include "tutti/tune/importance/ped_anova.h"

namespace tutti::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using tune::Trial;
using tune::TrialState;

constexpr std::size_t kMostLines = 40;  // trials in plots with one line each

Json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? Json("NaN") : Json(value > 0 ? "Infinity" : "-Infinity");
}

Json numbers_json(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(number_json(value));
  return json;
}

Json attributes_json(const tune::Attributes& attributes) {
  Json json = Json::object();
  for (const auto& [key, value] : attributes) json[key] = Json::parse(value);
  return json;
}

Json trial_json(const Trial& trial) {
  Json json = {{"number", trial.number},
               {"state", tune::name_of(trial.state)},
               {"parameters", Json::object()}};
  for (const tune::TrialParameter& parameter : trial.parameters) {
    json["parameters"][parameter.name] =
        Json::parse(tune::json_value(*parameter.distribution, parameter.value));
  }
  json["values"] = numbers_json(trial.values);
  json["constraints"] = numbers_json(trial.constraints);
  json["reports"] = Json::array();
  for (const tune::Report& report : trial.reports) {
    json["reports"].push_back({{"step", report.step}, {"value", number_json(report.value)}});
  }
  json["user_attributes"] = attributes_json(trial.user_attributes);
  json["system_attributes"] = attributes_json(trial.system_attributes);
  json["started"] =
      trial.started > 0 ? Json(utc_text(static_cast<std::int64_t>(trial.started * 1e9))) : Json();
  json["ended"] =
      trial.ended > 0 ? Json(utc_text(static_cast<std::int64_t>(trial.ended * 1e9))) : Json();
  return json;
}

plot::Axis linear_axis(const std::string& label, bool is_whole = false) {
  return {.label = label, .text = plot::plain_text, .is_linear = true, .is_whole = is_whole};
}

// The value of each trial, and the best one up to it.
plot::Chart history_chart(const std::string& name, const tune::History& history) {
  plot::Chart chart{name + ": value of each trial",
                    "thick: the best value so far",
                    linear_axis("trial", true),
                    linear_axis("value"),
                    {}};
  plot::Series values{"", plot::LineStyle::kPeer, {}}, best{"best", plot::LineStyle::kOurs, {}};
  const Trial* leader = nullptr;
  for (const Trial& trial : history.trials()) {
    if (trial.state != TrialState::kComplete) continue;
    const auto x = static_cast<double>(trial.number);
    values.points.push_back({x, trial.values[0]});
    if (trial.violation() == 0 && (!leader || history.loss(trial) < history.loss(*leader)))
      leader = &trial;
    if (leader) best.points.push_back({x, leader->values[0]});
  }
  chart.series = {values, best};
  return chart;
}

// One line per trial: the best ones, and those that ran last.
plot::Chart steps_chart(const std::string& name, const tune::History& history) {
  plot::Chart chart{name + ": reported values",
                    "thick: the best trial",
                    linear_axis("step", true),
                    linear_axis("value"),
                    {}};
  const Trial* best = history.objectives() == 1 ? history.best() : nullptr;
  for (auto trial = history.trials().rbegin();
       trial != history.trials().rend() && chart.series.size() < kMostLines; ++trial) {
    if (trial->reports.empty() || &*trial == best) continue;
    plot::Series line{
        "",
        trial->state == TrialState::kPruned ? plot::LineStyle::kBound : plot::LineStyle::kPeer,
        {}};
    for (const tune::Report& report : trial->reports)
      line.points.push_back({static_cast<double>(report.step), report.value});
    chart.series.push_back(std::move(line));
  }
  if (best && !best->reports.empty()) {
    plot::Series line{fmt::format("trial {}", best->number), plot::LineStyle::kOurs, {}};
    for (const tune::Report& report : best->reports)
      line.points.push_back({static_cast<double>(report.step), report.value});
    chart.series.push_back(std::move(line));
  }
  return chart;
}

// Importance of each parameter for the first objective.
plot::BarChart importance_chart(const std::string& name, const tune::History& history) {
  plot::BarChart chart{name + ": importance of parameters",
                       "PED-ANOVA: which parameters decide whether a trial is among the best",
                       "share",
                       {}};
  plot::BarGroup group;
  for (const tune::Importance& one : tune::parameter_importances(history)) {
    group.bars.push_back({one.name, one.value, fmt::format("{:.2f}", one.value)});
  }
  chart.groups = {group};
  return chart;
}

void write_plot(const fs::path& file, const std::string& svg, std::vector<fs::path>& written) {
  os::write_whole(file.string(), svg);
  written.push_back(file);
}

}  // namespace

std::string parameters_text(const Trial& trial) {
  std::string text;
  for (const tune::TrialParameter& parameter : trial.parameters) {
    const bool is_real = parameter.distribution->kind == tune::DistributionKind::kFloat;
    std::string value = is_real ? fmt::format("{:.4g}", parameter.value)
                                : tune::json_value(*parameter.distribution, parameter.value);
    if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", parameter.name, value);
  }
  return text;
}

std::string values_text(const Trial& trial) {
  std::string text;
  for (const double value : trial.values)
    text += fmt::format("{}{:.6g}", text.empty() ? "" : ", ", value);
  return text;
}

std::string best_text(const tune::History& history) {
  if (history.objectives() == 1) {
    const Trial* best = history.best();
    if (!best) return "No trial is complete.\n";
    return fmt::format("Best: trial {}, {}  {}\n", best->number, values_text(*best),
                       parameters_text(*best));
  }
  std::string text = "Pareto front:\n";
  for (const std::int64_t number : history.pareto_front()) {
    const Trial& trial = history.trial(number);
    text +=
        fmt::format("  trial {:>4}  {}  {}\n", number, values_text(trial), parameters_text(trial));
  }
  return text;
}

std::string counts_text(const tune::History& history) {
  std::string text;
  for (const TrialState state : {TrialState::kComplete, TrialState::kPruned, TrialState::kFailed,
                                 TrialState::kRunning, TrialState::kWaiting}) {
    const std::size_t count = history.count(state);
    if (count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, tune::name_of(state));
  }
  return text.empty() ? "no trials" : text;
}

std::string table_text(const tune::History& history) {
  std::string text = fmt::format("{:>5}  {:<8}  {:>12}  parameters\n", "trial", "state", "value");
  for (const Trial& trial : history.trials()) {
    text += fmt::format("{:>5}  {:<8}  {:>12}  {}\n", trial.number, tune::name_of(trial.state),
                        values_text(trial), parameters_text(trial));
  }
  return text;
}

std::string study_json(const std::string& name, const tune::History& history) {
  Json json = {{"name", name}, {"directions", Json::array()}, {"trials", Json::array()}};
  for (const tune::Direction direction : history.directions()) {
    json["directions"].push_back(direction == tune::Direction::kMinimize ? "minimize" : "maximize");
  }
  for (const Trial& trial : history.trials()) json["trials"].push_back(trial_json(trial));
  return json.dump(1) + "\n";
}

std::vector<fs::path> plot_study(const fs::path& folder, const std::string& name,
                                 const tune::History& history) {
  std::vector<fs::path> written;
  fs::create_directories(folder / "plots");
  write_plot(folder / "plots/history.svg", plot::render_svg(history_chart(name, history)), written);
  write_plot(folder / "plots/importance.svg", plot::render_svg(importance_chart(name, history)),
             written);
  const bool has_steps = std::any_of(history.trials().begin(), history.trials().end(),
                                     [](const Trial& trial) { return trial.reports.size() > 1; });
  if (has_steps)
    write_plot(folder / "plots/steps.svg", plot::render_svg(steps_chart(name, history)), written);
  return written;
}

}  // namespace tutti::app
