#include "tutti/tune/run/command_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "tutti/core/error.h"

namespace tutti::tune {
namespace {

bool is_name(const std::string& text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
         });
}

}  // namespace

std::vector<CommandPart> parts_of(const std::string& word) {
  std::vector<CommandPart> parts;
  std::string literal;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t close = word[at] == '{' ? word.find('}', at) : std::string::npos;
    const std::string name = close == std::string::npos ? "" : word.substr(at + 1, close - at - 1);
    if (!is_name(name)) {
      literal += word[at++];
      continue;
    }
    if (!literal.empty()) parts.push_back({std::exchange(literal, {})});
    parts.push_back({name, true});
    at = close + 1;
  }
  if (!literal.empty()) parts.push_back({literal});
  return parts;
}

void check_command(const std::vector<std::string>& command, const Space& space) {
  std::string names;
  for (const Parameter& parameter : space) names += (names.empty() ? "" : ", ") + parameter.name;
  for (const std::string& word : command) {
    for (const CommandPart& part : parts_of(word)) {
      const bool is_known =
          part.text == "trial" || part.text == "directory" || part.text == "run" ||
          std::any_of(space.begin(), space.end(),
                      [&](const Parameter& one) { return one.name == part.text; });
      if (part.is_name && !is_known) {
        throw ConfigError(
            "DDL-10-33",
            fmt::format("The command has '{{{}}}', which is not a parameter. Parameters: {}.",
                        part.text, names));
      }
    }
  }
}

}  // namespace tutti::tune
