// Options of ddlrun: one table that generates the command line parser, its help, the man page, the shell completion and
// the reference page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tutti/core/options.h"

namespace tutti::launch {

struct Argument {
  OptionSpec option;  // name in snake_case; - and _ are equivalent
  std::vector<std::string> aliases =
      {};                  // listed in the help; option.aliases are the deprecated ones
  std::string value = "";  // placeholder of the value in the help; empty: a switch
  bool repeats = false;    // may be repeated; all values are kept
};

struct ArgumentGroup {
  std::string title;
  std::vector<Argument> arguments;
};

// Groups of options, in the order of the help.
const std::vector<ArgumentGroup>& argument_groups();
// The same options as a table for core's Options.
const OptionTable& launch_options();
// Finds an option by name, alias or deprecated alias, without dashes; nullptr if there is none.
const Argument* find_argument(std::string_view name);

// Text of `ddlrun --print WHAT`: help, man, completion (for bash) or reference. Throws ConfigError for any other page.
std::string page(std::string_view what, std::string_view version);

}  // namespace tutti::launch
