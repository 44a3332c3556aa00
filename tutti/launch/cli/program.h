// What the user wants to run, made whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::launch {

struct Program {
  std::vector<std::string> words;  // the program first
  std::vector<std::string> files;  // that it needs besides: a script
};

// "train.py" that cannot be executed becomes "python train.py"; python is python3 where only that
// is in `path`. Throws ConfigError when there is no program.
Program complete_program(std::vector<std::string> words, std::string_view path);

}  // namespace tutti::launch
