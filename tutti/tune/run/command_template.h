// Placeholders in the command of a trial: "{name}".
#pragma once

#include <string>
#include <vector>

#include "tutti/tune/space.h"

namespace tutti::tune {

struct CommandPart {
  std::string text;  // literal, or the name of a placeholder
  bool is_name = false;
};

// Splits a word into literals and placeholders. Braces around anything but a name, such as JSON, are literal.
std::vector<CommandPart> parts_of(const std::string& word);

// Throws ConfigError (DDL-10-33) if a placeholder is neither a parameter of `space` nor trial, directory or run.
void check_command(const std::vector<std::string>& command, const Space& space);

}  // namespace tutti::tune
