#include "tutti/tune/space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "tutti/core/error.h"

namespace tutti::tune {
namespace {

[[noreturn]] void reject_text(const std::string& text, const std::string& reason) {
  throw ConfigError(
      "DDL-10-03",
      fmt::format("Invalid parameter '{}': {}. Write for example learning_rate=log:1e-4..1e-1, "
                  "layers=2..8, width=64..512:64 or optimizer=sgd,adam.",
                  text, reason));
}

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool takes_prefix(std::string& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.erase(0, prefix.size());
  return true;
}

// "1e-4..1e-1" or "64..512:64", after prefixes such as "log:".
Distribution parse_range(const std::string& whole, const std::string& text, bool is_log,
                         bool is_float) {
  const std::size_t dots = text.find("..");
  std::vector<std::string> ends = split(text.substr(dots + 2), ":");
  ends.insert(ends.begin(), text.substr(0, dots));
  if (ends.size() > 3) reject_text(whole, "too many ':'");
  std::vector<double> numbers;
  for (const std::string& end : ends) {
    const auto number = number_in(end);
    if (!number) reject_text(whole, fmt::format("'{}' is not a number", end));
    numbers.push_back(*number);
    is_float = is_float || end.find_first_of(".eEn") != std::string::npos;
  }
  const double step = numbers.size() == 3 ? numbers[2] : is_float ? 0 : 1;
  return is_float ? Distribution::real(numbers[0], numbers[1], is_log, step)
                  : Distribution::integer(numbers[0], numbers[1], is_log, step);
}

// JSON of a choice: a number, true, false or null as it is, and a string otherwise.
std::string choice_json(const std::string& text) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_discarded() && json.is_primitive()) return json.dump();
  return nlohmann::ordered_json(text).dump();
}

Distribution parse_choices(const std::string& text) {
  std::vector<std::string> choices;
  for (const std::string& choice : split(text, ",")) choices.push_back(choice_json(choice));
  return Distribution::categorical(std::move(choices));
}

}  // namespace

Parameter parse_parameter(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) reject_text(text, "no name before '='");
  const std::string name = text.substr(0, equals);
  std::string range = text.substr(equals + 1);
  if (range.empty()) reject_text(text, "no range or choices after '='");
  const bool is_log = takes_prefix(range, "log:");
  const bool is_float = takes_prefix(range, "float:");
  const bool is_integer = !is_float && takes_prefix(range, "int:");
  if (range.find("..") == std::string::npos) {
    if (is_log || is_float || is_integer) reject_text(text, "no '..' between two limits");
    return {name, checked(name, parse_choices(range))};
  }
  Distribution distribution = parse_range(text, range, is_log, is_float);
  if (is_integer) {
    distribution = Distribution::integer(distribution.low, distribution.high, is_log,
                                         std::max(distribution.step, 1.0));
  }
  return {name, checked(name, std::move(distribution))};
}

void add_condition(Parameter& parameter, const Space& space, const std::string& parent,
                   const std::vector<std::string>& values) {
  const auto at = std::find_if(space.begin(), space.end(),
                               [&](const Parameter& one) { return one.name == parent; });
  if (at == space.end() || !at->distribution.is_categorical()) {
    throw ConfigError("DDL-10-04",
                      fmt::format("Parameter '{}' depends on '{}', which is not a categorical "
                                  "parameter listed before it. List '{}' first, with its choices.",
                                  parameter.name, parent, parent));
  }
  const std::vector<std::string>& choices = at->distribution.choices;
  parameter.parent = parent;
  for (const std::string& value : values) {
    const auto choice = std::find(choices.begin(), choices.end(), choice_json(value));
    if (choice == choices.end()) {
      throw ConfigError("DDL-10-04",
                        fmt::format("Parameter '{}' depends on {}={}, which is not a "
                                    "choice. Valid choices: {}.",
                                    parameter.name, parent, value, fmt::join(choices, ", ")));
    }
    parameter.parent_choices.push_back(static_cast<std::size_t>(choice - choices.begin()));
  }
}

std::vector<bool> active_parameters(const Space& space, const std::vector<double>& values) {
  std::vector<bool> active(space.size(), true);
  std::map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < space.size(); ++i) {
    const Parameter& parameter = space[i];
    index[parameter.name] = i;
    if (!parameter.is_conditional()) continue;
    const std::size_t parent = index.at(parameter.parent);
    const auto choice = static_cast<std::size_t>(values[parent]);
    const auto& choices = parameter.parent_choices;
    active[i] =
        active[parent] && std::find(choices.begin(), choices.end(), choice) != choices.end();
  }
  return active;
}

}  // namespace tutti::tune
