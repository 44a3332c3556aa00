// What the user typed.
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
  std::map<std::string, std::vector<std::string>, std::less<>> lists = {};  // options that repeat
  std::vector<std::string> program = {};                                    // and its arguments

  const std::vector<std::string>& list(std::string_view name) const;
  // 0 when it was not given.
  int number(std::string_view name) const;
};

// The words after the program's name. Options come first, with one dash or two, the value as the
// next word or after '='; what follows the first word that is no option belongs to the program, as
// does everything after "--". Throws ConfigError on an unknown option, a value that is missing or
// wrong, and options that exclude each other.
CommandLine parse_command_line(std::span<const std::string> words);

}  // namespace tutti::launch
