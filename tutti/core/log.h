// Lines for people, on standard error: `[12:34:56.789 rank 3] warning: ...`.
// Level from TUTTI_LOG (debug, info, warning, error), default info. Safe from every thread; one
// write per line, so lines of several ranks do not mix.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace tutti::log {

enum class Level { kDebug, kInfo, kWarning, kError };

bool enabled(Level level);
void set_level(Level level);
// Put in front of every line of the calling thread, e.g. "rank 3"; thread-ranks each have their
// own.
void set_tag(std::string tag);
const std::string& tag();
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
