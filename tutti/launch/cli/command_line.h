// Command line parser of ddlrun.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/core/options.h"

namespace tutti::launch {

struct CommandLine {
  Options options;
  std::map<std::string, std::vector<std::string>, std::less<>> lists = {};  // repeatable options
  std::vector<std::string> program = {};                                    // with its arguments

  const std::vector<std::string>& list(std::string_view name) const;
  // 0 if the option was not given.
  int number(std::string_view name) const;
};

// Parses the arguments after argv[0]. Options come first, with one dash or two; the value is the next argument or
// follows '='. The first argument that is not an option starts the program and its arguments, as does "--". Throws
// ConfigError for an unknown option, a missing or invalid value, and options that exclude each other.
CommandLine parse_command_line(std::span<const std::string> arguments);

}  // namespace tutti::launch
