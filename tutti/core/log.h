// Human-readable log on standard error: `[12:34:56.789 rank 3] warning: ...`, in UTC.
//
// TUTTI_LOG sets the level: debug, info (default), warning or error. Thread-safe. Each line is one write(2), so lines
// of several ranks do not interleave.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace tutti::log {

enum class Level { kDebug, kInfo, kWarning, kError };

bool enabled(Level level);
void set_level(Level level);
// Sets the tag in front of every line of the calling thread, such as "rank 3". It is per thread because tests run ranks
// as threads.
void set_tag(std::string tag);
const std::string& tag();
// Writes one line without checking the level. debug(), info(), warning() and error() format and write only if their
// level is enabled.
void write(Level level, std::string_view text);

template <class... Args>
void debug(fmt::format_string<Args...> form, Args&&... args) {
  if (enabled(Level::kDebug)) write(Level::kDebug, fmt::format(form, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> form, Args&&... args) {
  if (enabled(Level::kInfo)) write(Level::kInfo, fmt::format(form, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> form, Args&&... args) {
  if (enabled(Level::kWarning))
    write(Level::kWarning, fmt::format(form, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> form, Args&&... args) {
  if (enabled(Level::kError)) write(Level::kError, fmt::format(form, std::forward<Args>(args)...));
}

}  // namespace tutti::log
