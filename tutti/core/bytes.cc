#include "tutti/core/bytes.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "tutti/core/error.h"

namespace tutti {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 14> kUnits = {{{"", 1},
                                                                         {"b", 1},
                                                                         {"kib", 0x1p10},
                                                                         {"mib", 0x1p20},
                                                                         {"gib", 0x1p30},
                                                                         {"tib", 0x1p40},
                                                                         {"kb", 1e3},
                                                                         {"mb", 1e6},
                                                                         {"gb", 1e9},
                                                                         {"tb", 1e12},
                                                                         {"k", 0x1p10},
                                                                         {"m", 0x1p20},
                                                                         {"g", 0x1p30},
                                                                         {"t", 0x1p40}}};

}  // namespace

std::int64_t parse_bytes(std::string_view text) {
  const std::string whole(text);
  char* rest = nullptr;
  const double number = std::strtod(whole.c_str(), &rest);
  std::string unit;
  while (rest && *rest == ' ') ++rest;
  for (; rest && *rest; ++rest) unit += static_cast<char>(std::tolower(*rest));
  if (rest != whole.c_str() && std::isfinite(number) && number >= 0 &&
      std::isdigit(static_cast<unsigned char>(whole[0]))) {
    for (const auto& [name, factor] : kUnits) {
      if (name == unit && number * factor < 0x1p63) {
        return static_cast<std::int64_t>(std::llround(number * factor));
      }
    }
  }
  throw ConfigError(
      "DDL-1-02",
      fmt::format("'{}' is not a number of bytes. Write for example 4096, 64KiB or 1.5GB.", text));
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kNames = {"", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < kNames.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, kNames[unit]);
}

}  // namespace tutti
