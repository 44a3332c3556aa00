#include "apps/tutti/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/core/failure.h"
#include "tutti/core/spelling.h"

namespace tutti::app {
namespace {

void print_help(std::string_view program, std::span<const Command> commands) {
  fmt::print("usage: {} <command> [options]\n\n", program);
  std::size_t width = 0;
  for (const Command& command : commands) width = std::max(width, command.name.size());
  for (const Command& command : commands)
    fmt::print("  {:{}}  {}\n", command.name, width, command.summary);
  fmt::print("\nHelp on a command: {} <command> --help\n", program);
}

}  // namespace

int dispatch(std::string_view program, std::span<const Command> commands, int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "help";
  for (const Command& command : commands)
    if (command.name == name) return command.run(argc - 1, argv + 1);
  if (name != "help" && name != "--help" && name != "-h") {
    std::vector<std::string_view> names;
    for (const Command& command : commands) names.push_back(command.name);
    const std::string_view nearest = nearest_name(name, names);
    throw ConfigError(
        "DDL-8-50", fmt::format("'{0}' has no command '{1}'.{2} See {0} help.", program, name,
                                nearest.empty() ? "" : fmt::format(" Did you mean {}?", nearest)));
  }
  print_help(program, commands);
  return 0;
}

std::pair<std::string, std::string> split_setting(std::string_view flag, std::string_view text) {
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0)
    throw ConfigError(
        "DDL-1-86", fmt::format("{0} '{1}' must be option=value, as in {0} batch=32.", flag, text));
  return {std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

int run_program(const std::function<int()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    fmt::print(stderr, "tutti: {}\n", failure_text(error));
    return exit_code(error);
  }
}

}  // namespace tutti::app
