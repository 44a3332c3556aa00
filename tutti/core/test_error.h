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

}  // namespace tutti
