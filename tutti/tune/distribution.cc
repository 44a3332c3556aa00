#include "tutti/tune/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tutti/core/error.h"

namespace tutti::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLargestInteger = 9007199254740992;  // 2^53: above it, doubles skip integers

double scaled(const Distribution& distribution, double value) {
  return distribution.is_log ? std::log(value) : value;
}

// Ends of the range on the scale of the distribution, widened by half a step if discrete.
double scaled_low(const Distribution& distribution) {
  return scaled(distribution, distribution.low - distribution.step / 2);
}
double scaled_high(const Distribution& distribution) {
  return scaled(distribution, distribution.high + distribution.step / 2);
}

std::string range_text(const Distribution& distribution) {
  return fmt::format("{}..{}", distribution.low, distribution.high);
}

[[noreturn]] void reject(const std::string& name, const std::string& reason) {
  throw ConfigError("DDL-10-01", fmt::format("Parameter '{}': {}", name, reason));
}

[[noreturn]] void reject_json(const std::string& text, const std::string& reason) {
  throw ConfigError("DDL-10-02",
                    fmt::format("Invalid distribution of a parameter: {}. {}.", text, reason));
}

Distribution from_attributes(const std::string& name, const Json& attributes) {
  const auto number = [&](const char* key, double otherwise) {
    return attributes.contains(key) && !attributes[key].is_null() ? attributes[key].get<double>()
                                                                  : otherwise;
  };
  if (name == "CategoricalDistribution") {
    std::vector<std::string> choices;
    for (const Json& choice : attributes.at("choices")) choices.push_back(choice.dump());
    return Distribution::categorical(std::move(choices));
  }
  const double low = attributes.at("low").get<double>(), high = attributes.at("high").get<double>();
  const bool is_log = attributes.value("log", false) || name.starts_with("LogUniform") ||
                      name.starts_with("IntLogUniform");
  if (name.starts_with("Int")) {
    return Distribution::integer(low, high, is_log, std::max(number("step", 1), 1.0));
  }
  return Distribution::real(low, high, is_log, number("step", number("q", 0)));
}

bool is_known_class(const std::string& name) {
  static const std::vector<std::string> names = {
      "FloatDistribution",      "IntDistribution",          "CategoricalDistribution",
      "UniformDistribution",    "LogUniformDistribution",   "DiscreteUniformDistribution",
      "IntUniformDistribution", "IntLogUniformDistribution"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Distribution Distribution::real(double low, double high, bool is_log, double step) {
  return {DistributionKind::kFloat, low, high, step, is_log};
}

Distribution Distribution::integer(double low, double high, bool is_log, double step) {
  return {DistributionKind::kInteger, low, high, step, is_log};
}

Distribution Distribution::categorical(std::vector<std::string> choices) {
  const double last = static_cast<double>(choices.size()) - 1;
  return {DistributionKind::kCategorical, 0, last, 1, false, std::move(choices)};
}

double Distribution::cardinality() const {
  if (is_single()) return 1;
  if (!is_discrete()) return std::numeric_limits<double>::infinity();
  return std::floor((high - low) / step + 0.5) + 1;
}

bool Distribution::contains(double value) const {
  if (!(value >= low && value <= high)) return false;
  if (!is_discrete()) return true;
  const double steps = (value - low) / step;
  return std::abs(steps - std::round(steps)) < 1e-8 * std::max(1.0, steps);
}

double Distribution::value_at(double position) const {
  const double start = scaled_low(*this), end = scaled_high(*this);
  double value = start + position * (end - start);
  if (is_log) value = std::exp(value);
  if (is_discrete()) value = low + std::round((value - low) / step) * step;
  return std::clamp(value, low, high);
}

double Distribution::position_of(double value) const {
  const double start = scaled_low(*this), end = scaled_high(*this);
  if (!(end > start)) return 0.5;
  const double middle =
      is_discrete() ? (scaled(*this, value - step / 2) + scaled(*this, value + step / 2)) / 2
                    : scaled(*this, value);
  return std::clamp((middle - start) / (end - start), 0.0, 1.0);
}

double Distribution::half_width(double value) const {
  if (!is_discrete()) return 0;
  const double width = scaled_high(*this) - scaled_low(*this);
  return (scaled(*this, value + step / 2) - scaled(*this, value - step / 2)) / width / 2;
}

Distribution checked(const std::string& name, Distribution distribution) {
  if (distribution.is_categorical()) {
    if (distribution.choices.empty()) reject(name, "no choices. List at least one.");
    return distribution;
  }
  if (!std::isfinite(distribution.low) || !std::isfinite(distribution.high)) {
    reject(name,
           fmt::format("the range {} is not finite. Use finite limits.", range_text(distribution)));
  }
  if (distribution.low > distribution.high) {
    reject(name, fmt::format("the range {} is empty. Write the smaller limit first.",
                             range_text(distribution)));
  }
  const bool is_integer = distribution.kind == DistributionKind::kInteger;
  if (distribution.is_log &&
      distribution.low < (is_integer ? 1 : std::numeric_limits<double>::min())) {
    reject(name, fmt::format("the logarithmic range {} starts below {}. Raise the lower limit, or "
                             "use a linear range.",
                             range_text(distribution), is_integer ? "1" : "the smallest number"));
  }
  if (distribution.step < 0 || !std::isfinite(distribution.step)) {
    reject(name, fmt::format("invalid step {}. Use a positive step.", distribution.step));
  }
  if (distribution.is_log && distribution.step > (is_integer ? 1 : 0)) {
    reject(name, "a logarithmic range cannot have a step. Omit one of the two.");
  }
  if (is_integer) {
    const auto is_whole = [](double value) { return value == std::floor(value); };
    if (!is_whole(distribution.low) || !is_whole(distribution.high) ||
        !is_whole(distribution.step) || distribution.step < 1 ||
        std::max(-distribution.low, distribution.high) > kLargestInteger) {
      reject(name, fmt::format("the range {} with step {} does not consist of integers up to 2^53. "
                               "Use integers, or a float parameter.",
                               range_text(distribution), distribution.step));
    }
  }
  if (distribution.is_discrete()) {
    const double steps =
        std::floor((distribution.high - distribution.low) / distribution.step + 1e-8);
    const double last = distribution.low + steps * distribution.step;
    // Keeps a limit that the last value reaches but for rounding, such as 10.2 from -10.2 in steps of 0.1.
    if (std::abs(last - distribution.high) > 1e-8 * distribution.step) distribution.high = last;
  }
  return distribution;
}

std::string to_json(const Distribution& distribution) {
  Json attributes;
  const char* name = "FloatDistribution";
  if (distribution.is_categorical()) {
    name = "CategoricalDistribution";
    attributes["choices"] = Json::array();
    for (const std::string& choice : distribution.choices) {
      attributes["choices"].push_back(Json::parse(choice));
    }
  } else if (distribution.kind == DistributionKind::kInteger) {
    name = "IntDistribution";
    attributes = {{"log", distribution.is_log},
                  {"step", static_cast<std::int64_t>(distribution.step)},
                  {"low", static_cast<std::int64_t>(distribution.low)},
                  {"high", static_cast<std::int64_t>(distribution.high)}};
  } else {
    attributes = {{"step", nullptr},
                  {"low", distribution.low},
                  {"high", distribution.high},
                  {"log", distribution.is_log}};
    if (distribution.is_discrete()) attributes["step"] = distribution.step;
  }
  return Json{{"name", name}, {"attributes", attributes}}.dump();
}

Distribution distribution_from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    const auto name = json.at("name").get<std::string>();
    if (!is_known_class(name)) reject_json(text, "Unknown class");
    return from_attributes(name, json.at("attributes"));
  } catch (const Json::exception& error) {
    reject_json(text, error.what());
  }
}

std::string json_value(const Distribution& distribution, double value) {
  switch (distribution.kind) {
    case DistributionKind::kCategorical:
      return distribution.choices.at(static_cast<std::size_t>(value));
    case DistributionKind::kInteger: return fmt::format("{}", static_cast<std::int64_t>(value));
    case DistributionKind::kFloat: break;
  }
  return Json(value).dump();
}

}  // namespace tutti::tune
