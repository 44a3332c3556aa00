// Helpers of the tests of this folder.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "tutti/core/error.h"

namespace tutti::launch {

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What `call` throws, "" when nothing.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace tutti::launch
