// The search request of IBM's Deep Learning Impact. Field names are its own, misspelt ones included.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "tutti/core/error.h"
#include "tutti/tune/run/study_spec.h"

namespace tutti::tune {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void reject_request(const std::string& reason) {
  throw ConfigError("DDL-10-31", fmt::format("Invalid search request: {}.", reason));
}

const Json* first_of(const Json& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (object.contains(name) && !object[name].is_null()) return &object[name];
  }
  return nullptr;
}

double limit_of(const Json& parameter, std::initializer_list<const char*> names) {
  const Json* value = first_of(parameter, names);
  if (!value)
    reject_request(
        fmt::format("parameter '{}' has no {}", parameter.value("name", "?"), *names.begin()));
  return value->get<double>();
}

Parameter parameter_of(const Json& json) {
  const auto name = json.at("name").get<std::string>();
  const auto type = json.at("type").get<std::string>();
  const std::string data_type = json.value("dataType", "double");
  if (type == "Discrete") {
    const Json* values =
        first_of(json, {"discreteStrVal", "discreateStrVal", "discreteIntVal", "discreateIntVal",
                        "discreteDbVal", "discreateDbVal", "discrete"});
    if (!values || !values->is_array())
      reject_request(fmt::format("parameter '{}' has no list of values", name));
    std::vector<std::string> choices;
    for (const Json& value : *values) choices.push_back(value.dump());
    return {name, checked(name, Distribution::categorical(std::move(choices)))};
  }
  if (type != "Range")
    reject_request(
        fmt::format("type '{}' of parameter '{}'; valid types: Range, Discrete", type, name));
  const Json* step = first_of(json, {"step"});
  const double width = step ? step->get<double>() : 0;
  if (data_type == "int") {
    return {name, checked(name, Distribution::integer(limit_of(json, {"minIntVal", "min"}),
                                                      limit_of(json, {"maxIntVal", "max"}), false,
                                                      width > 0 ? width : 1))};
  }
  return {name,
          checked(name, Distribution::real(limit_of(json, {"minDbVal", "min"}),
                                           limit_of(json, {"maxDbVal", "max"}), false, width))};
}

std::string algorithm_of(const std::string& name) {
  static const std::map<std::string, std::string> names = {{"Random", "random"},
                                                           {"Bayesian", "gp"},
                                                           {"TPE", "tpe"},
                                                           {"Hyperband", "random"},
                                                           {"ExperimentGridSearch", "grid"}};
  const auto at = names.find(name);
  if (at == names.end()) {
    reject_request(fmt::format(
        "algorithm '{}'; valid algorithms: Random, Bayesian, TPE, Hyperband, ExperimentGridSearch",
        name));
  }
  return at->second;
}

void read_algorithm(const Json& json, StudySpec& spec) {
  const auto algorithm = json.at("algorithm").get<std::string>();
  spec.options.emplace_back("algorithm", algorithm_of(algorithm));
  if (algorithm == "Hyperband") spec.options.emplace_back("pruner", "hyperband");
  // -1: no limit.
  const auto limit = [&](const char* name, const char* option, int scale) {
    if (const double value = json.value(name, -1.0); value > 0) {
      spec.options.emplace_back(option, std::to_string(static_cast<std::int64_t>(value * scale)));
    }
  };
  limit("maxRunTime", "timeout", 60);
  limit("maxJobNum", "trials", 1);
  limit("maxParalleJobNum", "parallel", 1);
  const std::string objective = json.value("objective", "minimize");
  spec.objectives = {{json.at("objectiveMetric").get<std::string>(),
                      objective == "maximize" ? Direction::kMaximize : Direction::kMinimize}};
}

}  // namespace

StudySpec read_search_request(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream)
    throw ConfigError("DDL-10-31", fmt::format("Cannot read {}. Check the path.", file.string()));
  StudySpec spec;
  try {
    const Json json = Json::parse(stream);
    read_algorithm(json.at("algoDef"), spec);
    for (const Json& parameter : json.at("hyperParams"))
      spec.space.push_back(parameter_of(parameter));
  } catch (const Json::exception& error) {
    reject_request(error.what());
  }
  return spec;
}

}  // namespace tutti::tune
