// Checks of a caller's arguments.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "tutti/core/error.h"

namespace tutti::comm {

// Throws ConfigError with the message unless the condition holds. The message is made only then:
// this is on the path of every call.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> form, Args&&... args) {
  if (!condition) [[unlikely]] {
    throw ConfigError("DDL-4-01", fmt::format(form, std::forward<Args>(args)...));
  }
}

}  // namespace tutti::comm
