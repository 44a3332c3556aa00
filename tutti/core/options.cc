#include "tutti/core/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>

#include "tutti/core/bytes.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/core/mutex.h"
#include "tutti/core/spelling.h"

namespace tutti {
namespace {

[[noreturn]] void reject(const OptionSpec& spec, std::string_view text,
                         const std::string& expected) {
  throw ConfigError(
      "DDL-1-03", fmt::format("Option {} cannot be '{}'. Expected {}.", spec.name, text, expected));
}

bool is_true(std::string_view text) {
  return text == "1" || text == "true" || text == "yes" || text == "on";
}
bool is_false(std::string_view text) {
  return text == "0" || text == "false" || text == "no" || text == "off";
}

template <class Number>
Number parse_number(const OptionSpec& spec, std::string_view text, const char* what) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) reject(spec, text, what);
  return value;
}

std::string range_text(const OptionSpec& spec) {
  if (!spec.choices.empty()) return fmt::format("{}", fmt::join(spec.choices, ", "));
  if (spec.type == OptionType::kBool) return "0 or 1";
  if (spec.minimum == 0 && spec.maximum == 0) return "";
  if (spec.type == OptionType::kBytes) {
    return fmt::format("{} to {}", format_bytes(static_cast<std::int64_t>(spec.minimum)),
                       format_bytes(static_cast<std::int64_t>(spec.maximum)));
  }
  return fmt::format("{:g} to {:g}", spec.minimum, spec.maximum);
}

// NaN compares false with any limit, so it is rejected before the comparison.
void check_range(const OptionSpec& spec, std::string_view text, double value) {
  const bool limited = spec.minimum != 0 || spec.maximum != 0;
  if (std::isnan(value)) reject(spec, text, limited ? range_text(spec) : "a number");
  if (limited && (value < spec.minimum || value > spec.maximum))
    reject(spec, text, range_text(spec));
}

// Returns the current spelling of `text` if it is a deprecated choice, with a warning; otherwise `text`.
std::string_view current_choice(const OptionSpec& spec, std::string_view text) {
  for (const auto& [old_choice, choice] : spec.choice_aliases) {
    if (old_choice != text) continue;
    warn_deprecated("option", fmt::format("{}={}", spec.name, text),
                    fmt::format("{}={}", spec.name, choice));
    return choice;
  }
  return text;
}

void check(const OptionSpec& spec, std::string_view text) {
  switch (spec.type) {
    case OptionType::kBool:
      if (!is_true(text) && !is_false(text)) reject(spec, text, "0 or 1");
      break;
    case OptionType::kInt:
      check_range(spec, text,
                  static_cast<double>(parse_number<std::int64_t>(spec, text, "an integer")));
      break;
    case OptionType::kFloat:
      check_range(spec, text, parse_number<double>(spec, text, "a number"));
      break;
    case OptionType::kBytes: check_range(spec, text, static_cast<double>(parse_bytes(text))); break;
    case OptionType::kChoice:
      if (std::find(spec.choices.begin(), spec.choices.end(), text) == spec.choices.end()) {
        reject(spec, text, "one of: " + range_text(spec));
      }
      break;
    case OptionType::kText: break;
  }
}

}  // namespace

const OptionSpec* find_option(const OptionTable& table, std::string_view name) {
  for (const OptionSpec& spec : table)
    if (spec.name == name) return &spec;
  for (const OptionSpec& spec : table)
    if (std::ranges::find(spec.aliases, name) != spec.aliases.end()) return &spec;
  return nullptr;
}

void warn_deprecated(std::string_view kind, std::string_view old_name, std::string_view name) {
  static Mutex mutex;
  static std::set<std::string> logged;
  const std::string text = fmt::format("{} '{}' is deprecated; use '{}'", kind, old_name, name);
  const MutexLock lock(mutex);
  if (logged.insert(text).second) log::warning("{}", text);
}

Options::Options(const OptionTable& table) : table_(table) {
  for (const OptionSpec& spec : table_) {
    const char* text = spec.environment.empty() ? nullptr : std::getenv(spec.environment.c_str());
    if (text) set(spec.name, text, spec.environment);
    for (const std::string& old_name : spec.environment_aliases) {
      const char* old_text = text ? nullptr : std::getenv(old_name.c_str());
      if (!old_text) continue;
      warn_deprecated("environment variable", old_name, spec.environment);
      set(spec.name, old_text, old_name);
    }
  }
}

const OptionSpec& Options::find(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const OptionSpec& spec : table_) {
    if (spec.name == name) return spec;
    names.push_back(spec.name);
  }
  // If the name is a likely misspelling, suggest one name instead of listing dozens.
  if (const std::string_view nearest = nearest_name(name, names); !nearest.empty())
    throw ConfigError("DDL-1-04",
                      fmt::format("Unknown option {}. Did you mean {}?", name, nearest));
  throw ConfigError("DDL-1-04",
                    fmt::format("Unknown option {}. Known: {}.", name, fmt::join(names, ", ")));
}

void Options::set(std::string_view name, std::string_view text, std::string_view source) {
  const OptionSpec* known = find_option(table_, name);
  const OptionSpec& spec = known ? *known : find(name);  // find() throws
  if (spec.name != name) warn_deprecated("option", name, spec.name);
  text = current_choice(spec, text);
  check(spec, text);
  values_[spec.name] = {std::string(text), std::string(source)};
}

const std::string& Options::text(std::string_view name) const {
  const OptionSpec& spec = find(name);
  const auto found = values_.find(spec.name);
  return found == values_.end() ? spec.default_value : found->second.text;
}

std::size_t Options::choice_index(std::string_view name) const {
  const std::vector<std::string>& choices = find(name).choices;
  const auto found = std::find(choices.begin(), choices.end(), text(name));
  return static_cast<std::size_t>(found - choices.begin());
}

bool Options::flag(std::string_view name) const {
  return is_true(text(name));
}

std::int64_t Options::integer(std::string_view name) const {
  const OptionSpec& spec = find(name);
  if (spec.type == OptionType::kBytes) return parse_bytes(text(name));
  return parse_number<std::int64_t>(spec, text(name), "an integer");
}

double Options::number(std::string_view name) const {
  return parse_number<double>(find(name), text(name), "a number");
}

bool Options::is_default(std::string_view name) const {
  return !values_.contains(find(name).name);
}

std::string_view Options::source(std::string_view name) const {
  const auto found = values_.find(find(name).name);
  return found == values_.end() ? "default" : std::string_view(found->second.source);
}

std::string reference_markdown(std::string_view title, const OptionTable& table) {
  std::string page = fmt::format(
      "# {}\n\n| option | default | range | environment | meaning |\n|---|---|---|---|---|\n",
      title);
  for (const OptionSpec& spec : table) {
    const std::string value = spec.default_value.empty() ? "" : "`" + spec.default_value + "`";
    std::vector<std::string> old_names = spec.aliases;
    old_names.insert(old_names.end(), spec.environment_aliases.begin(),
                     spec.environment_aliases.end());
    for (const auto& [old_choice, choice] : spec.choice_aliases)
      old_names.push_back(spec.name + "=" + old_choice);
    const std::string formerly =
        old_names.empty() ? "" : fmt::format(" Formerly `{}`.", fmt::join(old_names, "`, `"));
    page += fmt::format("| `{}` | {} | {} | {} | {}{} |\n", spec.name, value, range_text(spec),
                        spec.environment, spec.help, formerly);
  }
  return page;
}

std::string help_text(const OptionTable& table) {
  std::string text;
  for (const OptionSpec& spec : table) {
    text += fmt::format("  {:<18} {} [{}]\n", spec.name, spec.help, spec.default_value);
  }
  return text;
}

}  // namespace tutti
