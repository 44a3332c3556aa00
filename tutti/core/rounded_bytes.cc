#include "tutti/core/rounded_bytes.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

#include "tutti/core/bytes.h"

namespace tutti {

std::string rounded_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const int decimals = unit == 0 || std::abs(value) >= 100 ? 0 : std::abs(value) >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string rounded_up_bytes(std::int64_t bytes) {
  const std::int64_t unit = bytes < (std::int64_t{1} << 20) ? 1 : std::int64_t{1} << 20;
  return format_bytes((bytes + unit - 1) / unit * unit);
}

}  // namespace tutti
