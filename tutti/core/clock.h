// Clocks: monotonic for durations, wall clock for timestamps that users and other hosts read.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tutti {

// Nanoseconds of the monotonic clock. Comparable between processes of one host, not between hosts.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Nanoseconds since the Unix epoch.
inline std::int64_t wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Measures the time since its construction or the last restart().
class Stopwatch {
 public:
  double seconds() const { return static_cast<double>(now_ns() - start_) * 1e-9; }
  void restart() { start_ = now_ns(); }

 private:
  std::int64_t start_ = now_ns();
};

// Formats nanoseconds since the Unix epoch as ISO 8601 in UTC: "2026-03-01T12:34:56.789Z".
std::string utc_text(std::int64_t wall_nanoseconds);

}  // namespace tutti
