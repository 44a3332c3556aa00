#include "tutti/launch/cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/launch/cli/options.h"

namespace tutti::launch {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 4> kExclusive = {{
    {"host", "hostfile"},
    {"check", "dry_run"},
    {"check", "skipchecks"},
    {"ranks", "accelerators"},
}};

void check_exclusive(const Options& options) {
  for (const auto& [one, other] : kExclusive) {
    if (!options.is_default(one) && !options.is_default(other)) {
      throw ConfigError(
          "DDL-3-03", fmt::format("-{} and -{} cannot be combined. Omit one of them.", one, other));
    }
  }
}

void take(CommandLine& line, const Argument& argument, const std::string& value,
          std::string_view word) {
  line.options.set(argument.option.name, value, word);
  if (argument.repeats) line.lists[argument.option.name].push_back(value);
}

// Returns the option that `word` names, and the value after its '=', if any.
const Argument& lookup(const std::string& word, std::string* value, bool* has_value) {
  std::string name = word.substr(word.find_first_not_of('-'));
  const std::size_t equals = name.find('=');
  *has_value = equals != name.npos;
  if (*has_value) {
    *value = name.substr(equals + 1);
    name.resize(equals);
  }
  std::ranges::replace(name, '-', '_');
  if (const Argument* argument = find_argument(name)) {
    if (std::ranges::find(argument->option.aliases, name) != argument->option.aliases.end())
      warn_deprecated("option", name, argument->option.name);
    return *argument;
  }
  Options(launch_options()).set(name, "");  // throws and suggests the closest name
  throw ConfigError("DDL-3-02", "Unknown option " + word);
}

}  // namespace

const std::vector<std::string>& CommandLine::list(std::string_view name) const {
  static const std::vector<std::string> none;
  const auto found = lists.find(name);
  return found == lists.end() ? none : found->second;
}

int CommandLine::number(std::string_view name) const {
  return options.is_default(name) ? 0 : static_cast<int>(options.integer(name));
}

CommandLine parse_command_line(std::span<const std::string> arguments) {
  CommandLine line{Options(launch_options())};
  std::size_t at = 0;
  for (; at < arguments.size() && arguments[at].starts_with('-'); ++at) {
    const std::string& word = arguments[at];
    if (word == "--") {
      ++at;
      break;
    }
    if (word.find_first_not_of('-') == word.npos) {
      throw ConfigError("DDL-3-02", fmt::format("'{}' is not an option. See ddlrun --help.", word));
    }
    std::string value = "1";
    bool has_value = false;
    const Argument& argument = lookup(word, &value, &has_value);
    if (!argument.value.empty() && !has_value) {
      if (++at == arguments.size()) {
        throw ConfigError("DDL-3-02",
                          fmt::format("{} needs a value: {} {}.", word, word, argument.value));
      }
      value = arguments[at];
    }
    take(line, argument, value, word);
  }
  line.program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
  check_exclusive(line.options);
  return line;
}

}  // namespace tutti::launch
