// Test helpers: messages of expected exceptions.
#pragma once

#include <string>

#include "tutti/core/error.h"

namespace tutti {

// The message of the ConfigError that `action` throws; "no error" if it does not throw. Other exceptions propagate.
std::string message_of(auto&& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

// The message of the Error that `action` throws; empty if it does not throw. Other exceptions propagate.
std::string error_of(auto&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace tutti
