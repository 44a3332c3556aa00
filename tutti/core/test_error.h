// For tests of errors.
#pragma once

#include <string>

#include "tutti/core/error.h"

namespace tutti {

// What the ConfigError says that `action` throws.
std::string message_of(auto&& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

// The message of the Error that `action` throws; empty if it throws none.
std::string error_of(auto&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace tutti
