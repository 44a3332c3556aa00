#include <fmt/format.h>

#include <toml++/toml.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tutti/core/error.h"
#include "tutti/tune/run/options.h"
#include "tutti/tune/run/study_spec.h"

namespace tutti::tune {
namespace {

[[noreturn]] void reject_line(const std::filesystem::path& file, const toml::source_region& source,
                              const std::string& reason) {
  throw ConfigError("DDL-10-30",
                    fmt::format("{}, line {}: {}.", file.string(), source.begin.line, reason));
}

std::string scalar_text(const std::filesystem::path& file, const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto truth = node.value_exact<bool>()) return *truth ? "1" : "0";
  if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  reject_line(file, node.source(), "expected a string, a number or a boolean");
}

std::vector<std::string> list_of(const std::filesystem::path& file, const toml::node& node) {
  std::vector<std::string> texts;
  if (const toml::array* array = node.as_array()) {
    for (const toml::node& one : *array) texts.push_back(scalar_text(file, one));
  } else {
    texts.push_back(scalar_text(file, node));
  }
  return texts;
}

// "log:1e-4..1e-1", ["sgd", "adam"], or { range = ..., if = { optimizer = "sgd" } }.
Parameter read_parameter(const std::filesystem::path& file, const Space& space,
                         const std::string& name, const toml::node& node) {
  const toml::table* details = node.as_table();
  const toml::node* range = details ? details->get("range") : &node;
  if (!range) reject_line(file, node.source(), fmt::format("parameter '{}' has no 'range'", name));
  Parameter parameter =
      parse_parameter(fmt::format("{}={}", name, fmt::join(list_of(file, *range), ",")));
  if (!details) return parameter;
  for (const auto& [key, value] : *details) {
    if (key == "range") continue;
    const toml::table* condition = value.as_table();
    if (key != "if" || !condition || condition->size() != 1) {
      reject_line(file, value.source(),
                  fmt::format("unexpected '{}'; write if = {{ PARAMETER = VALUE }}", key.str()));
    }
    add_condition(parameter, space, std::string(condition->begin()->first.str()),
                  list_of(file, condition->begin()->second));
  }
  return parameter;
}

// Unconditional parameters first, because TOML tables are sorted by name.
Space read_space(const std::filesystem::path& file, const toml::table& table) {
  Space space;
  for (const bool is_conditional : {false, true}) {
    for (const auto& [key, node] : table) {
      const bool has_condition = node.is_table() && node.as_table()->contains("if");
      if (has_condition == is_conditional)
        space.push_back(read_parameter(file, space, std::string(key.str()), node));
    }
  }
  return space;
}

toml::table parse(const std::filesystem::path& file) {
  if (!std::ifstream(file) || std::filesystem::is_directory(file)) {
    throw ConfigError("DDL-10-30", fmt::format("Cannot read {}. Check the path.", file.string()));
  }
  try {
    return toml::parse_file(file.string());
  } catch (const toml::parse_error& error) {
    reject_line(file, error.source(), std::string(error.description()));
  }
}

}  // namespace

StudyFileText read_study_toml(const std::filesystem::path& file) {
  const toml::table table = parse(file);
  StudyFileText study;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (name == "space" && node.is_table()) {
      study.spec.space = read_space(file, *node.as_table());
    } else if (name == "set" && node.is_table()) {
      for (const auto& [option, value] : *node.as_table()) {
        study.settings.emplace_back(std::string(option.str()), scalar_text(file, value));
      }
    } else if (name == "command") {
      study.spec.command = list_of(file, node);
    } else if (name == "case") {
      study.case_name = scalar_text(file, node);
    } else if (name == "name") {
      study.spec.name = scalar_text(file, node);
    } else if (find_option(tune_options(), name)) {
      study.spec.options.emplace_back(name, fmt::format("{}", fmt::join(list_of(file, node), ",")));
    } else {
      reject_line(file, node.source(),
                  fmt::format("unknown key '{}'; valid keys: name, case, command, [set], [space] "
                              "and the options of "
                              "`tutti tune options`",
                              name));
    }
  }
  return study;
}

}  // namespace tutti::tune
