#include "tutti/tune/run/study_spec.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tutti/core/error.h"
#include "tutti/tune/run/command_template.h"
#include "tutti/tune/run/options.h"

namespace tutti::tune {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Parameter& parameter) {
  Json json = {{"name", parameter.name},
               {"distribution", Json::parse(to_json(parameter.distribution))}};
  if (parameter.is_conditional()) {
    json["parent"] = parameter.parent;
    json["parent_choices"] = parameter.parent_choices;
  }
  return json;
}

Parameter parameter_from(const Json& json) {
  Parameter parameter{json.at("name").get<std::string>(),
                      distribution_from_json(json.at("distribution").dump())};
  parameter.parent = json.value("parent", "");
  parameter.parent_choices = json.value("parent_choices", std::vector<std::size_t>{});
  return parameter;
}

std::string_view name_of(Direction direction) {
  return direction == Direction::kMinimize ? "minimize" : "maximize";
}

}  // namespace

std::vector<Direction> StudySpec::directions() const {
  std::vector<Direction> directions;
  for (const Objective& objective : objectives) directions.push_back(objective.direction);
  return directions;
}

Options options_of(const StudySpec& spec) {
  Options options(tune_options());
  for (const auto& [name, value] : spec.options) options.set(name, value);
  return options;
}

std::string to_json(const StudySpec& spec) {
  Json json = {{"space", Json::array()},
               {"objectives", Json::array()},
               {"command", spec.command},
               {"resume_command", spec.resume_command},
               {"options", Json::object()}};
  for (const Parameter& parameter : spec.space) json["space"].push_back(json_of(parameter));
  for (const Objective& objective : spec.objectives) {
    json["objectives"].push_back(
        {{"metric", objective.metric}, {"direction", name_of(objective.direction)}});
  }
  for (const auto& [name, value] : spec.options) json["options"][name] = value;
  return json.dump();
}

StudySpec study_spec_from_json(const std::string& text) {
  StudySpec spec;
  try {
    const Json json = Json::parse(text);
    for (const Json& parameter : json.at("space")) spec.space.push_back(parameter_from(parameter));
    for (const Json& objective : json.at("objectives")) {
      const bool is_maximized = objective.at("direction") == "maximize";
      spec.objectives.push_back({objective.at("metric").get<std::string>(),
                                 is_maximized ? Direction::kMaximize : Direction::kMinimize});
    }
    spec.command = json.at("command").get<std::vector<std::string>>();
    spec.resume_command = json.at("resume_command").get<std::vector<std::string>>();
    for (const auto& [name, value] : json.at("options").items()) {
      spec.options.emplace_back(name, value.get<std::string>());
    }
  } catch (const Json::exception&) {
    throw ConfigError("DDL-10-32",
                      "This study was not created by `tutti tune`, so it has no program to run. "
                      "Continue it with the "
                      "script that created it.");
  }
  return spec;
}

void check(const StudySpec& spec) {
  const auto require = [](bool condition, const char* message) {
    if (!condition) throw ConfigError("DDL-10-32", message);
  };
  require(!spec.space.empty(),
          "The study has no parameters. Add --space name=low..high, or a table [space].");
  require(!spec.command.empty(),
          "The study has no program. Name a case of `tutti train`, or a command after --.");
  require(!spec.objectives.empty(), "The study has no metric. Add --metric NAME.");
  for (std::size_t i = 0; i < spec.space.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (spec.space[i].name == spec.space[j].name) {
        throw ConfigError(
            "DDL-10-32",
            fmt::format("Parameter '{}' occurs twice. Remove one of the two.", spec.space[i].name));
      }
    }
  }
  check_command(spec.command, spec.space);
  options_of(spec);
}

std::shared_ptr<Sampler> sampler_of(const StudySpec& spec) {
  const Options options = options_of(spec);
  return make_sampler(options.text("algorithm"),
                      {options.integer("trials"), static_cast<int>(options.integer("parallel")),
                       static_cast<std::uint64_t>(options.integer("seed")), spec.space});
}

std::shared_ptr<Pruner> pruner_of(const StudySpec& spec) {
  enum class Rule { kNone, kMedian, kAsha, kHyperband };
  switch (options_of(spec).choice<Rule>("pruner")) {
    case Rule::kMedian: return make_percentile_pruner({});
    case Rule::kAsha: return make_halving_pruner({.min_resource = 1, .reduction_factor = 4});
    case Rule::kHyperband: return make_hyperband_pruner({});
    case Rule::kNone: break;
  }
  return make_no_pruner();
}

}  // namespace tutti::tune
