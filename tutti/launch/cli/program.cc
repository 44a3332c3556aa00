#include "tutti/launch/cli/program.h"

#include <filesystem>

#include "tutti/core/error.h"
#include "tutti/os/shell.h"

namespace tutti::launch {
namespace {

std::string python(std::string_view path) {
  return os::find_program("python", path).empty() && !os::find_program("python3", path).empty()
             ? "python3"
             : "python";
}

// Script of a Python command line: the first argument that is neither an option nor the value of one; empty for -m and
// -c.
std::string script_of(const std::vector<std::string>& arguments) {
  for (std::size_t at = 1; at < arguments.size(); ++at) {
    const std::string& word = arguments[at];
    if (word == "-m" || word == "-c" || word == "-") return "";
    if (word == "-W" || word == "-X") {
      ++at;
    } else if (!word.starts_with('-')) {
      return word;
    }
  }
  return "";
}

}  // namespace

Program complete_program(std::vector<std::string> arguments, std::string_view path) {
  if (arguments.empty() || arguments[0].empty()) {
    throw ConfigError("DDL-3-01",
                      "No program to run. Usage: ddlrun [options] program [arguments], for "
                      "example ddlrun python train.py. See ddlrun --help.");
  }
  Program program{std::move(arguments), {}};
  const bool is_script = program.arguments[0].ends_with(".py") &&
                         std::filesystem::exists(program.arguments[0]) &&
                         os::find_program(program.arguments[0], path).empty();
  if (is_script) program.arguments.insert(program.arguments.begin(), python(path));
  if (program.arguments[0] == "python") program.arguments[0] = python(path);
  const std::string name = std::filesystem::path(program.arguments[0]).filename();
  if (name.starts_with("python")) {
    const std::string script = script_of(program.arguments);
    if (!script.empty()) program.files.push_back(script);
  }
  return program;
}

}  // namespace tutti::launch
