#include "tutti/core/clock.h"

#include <fmt/format.h>

#include <ctime>

namespace tutti {

std::string utc_text(std::int64_t wall_nanoseconds) {
  const std::time_t seconds = wall_nanoseconds / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     wall_nanoseconds / 1'000'000 % 1000);
}

}  // namespace tutti
