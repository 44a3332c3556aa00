// Completion of the program that the user wants to run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::launch {

struct Program {
  std::vector<std::string> arguments;  // the program and its arguments
  std::vector<std::string> files;      // additional required files: a script
};

// Turns a "train.py" that is not executable into "python train.py"; uses python3 if `path` has no python. Throws
// ConfigError if `arguments` is empty.
Program complete_program(std::vector<std::string> arguments, std::string_view path);

}  // namespace tutti::launch
