// The options of ddlrun: one table from which the command line, its help, the man page, the shell
// completion and the reference page are made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tutti/core/options.h"

namespace tutti::launch {

struct Argument {
  OptionSpec option;  // name in snake_case; on the command line - and _ are the same
  std::vector<std::string> aliases = {};
  std::string value = "";  // what stands for the value in the help; empty: a switch
  bool repeats = false;    // may be given several times; every value counts
};

struct ArgumentGroup {
  std::string title;
  std::vector<Argument> arguments;
};

// In the order of the help.
const std::vector<ArgumentGroup>& argument_groups();
// The same as the table that core's Options wants.
const OptionTable& launch_options();
// By name or alias, without dashes; nullptr when there is none.
const Argument* find_argument(std::string_view name);

// What `ddlrun --print WHAT` shows: help, man, completion (for bash), reference.
// Throws ConfigError when there is no such page.
std::string page(std::string_view what, std::string_view version);

}  // namespace tutti::launch
