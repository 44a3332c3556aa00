#include "tutti/core/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "tutti/core/clock.h"

namespace tutti::log {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"debug", "info", "warning", "error"};

Level level_from_environment() {
  const char* text = std::getenv("TUTTI_LOG");
  for (int i = 0; text && i < 4; ++i) {
    if (kNames[i] == text) return static_cast<Level>(i);
  }
  return Level::kInfo;
}

std::atomic<Level>& threshold() {
  static std::atomic<Level> level = level_from_environment();
  return level;
}

std::string& thread_tag() {
  thread_local std::string tag;
  return tag;
}

}  // namespace

bool enabled(Level level) {
  return level >= threshold().load(std::memory_order_relaxed);
}
void set_level(Level level) {
  threshold().store(level);
}
void set_tag(std::string tag) {
  thread_tag() = std::move(tag);
}
const std::string& tag() {
  return thread_tag();
}

void write(Level level, std::string_view text) {
  const std::string time = utc_text(wall_ns()).substr(11, 12);
  const std::string label =
      level == Level::kInfo ? "" : fmt::format("{}: ", kNames[static_cast<int>(level)]);
  const std::string line =
      fmt::format("[{}{}{}] {}{}\n", time, tag().empty() ? "" : " ", tag(), label, text);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace tutti::log
