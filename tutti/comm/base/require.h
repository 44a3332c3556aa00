// Validation of caller arguments.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "tutti/core/error.h"

namespace tutti::comm {

// Throws ConfigError DDL-4-01 with the formatted message unless the condition holds. The message is formatted only on
// failure, because every call passes through here.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> form, Args&&... args) {
  if (!condition) [[unlikely]] {
    throw ConfigError("DDL-4-01", fmt::format(form, std::forward<Args>(args)...));
  }
}

}  // namespace tutti::comm
