// Fast parser of decimal numbers.
#pragma once

#include <charconv>
#include <cstdint>

namespace tutti::learn {

// Parses the decimal number at `from`. Returns its end, or nullptr if there is no number. Short numbers take one exact
// division: up to 15 digits are below 2^53, so the quotient is the nearest double. All others use from_chars.
inline const char* read_number(const char* from, const char* end, double& value) {
  static constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const char* at = from;
  const bool is_negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) ++at;
  const char* const first = at;
  std::int64_t digits = 0;
  int decimals = 0;
  while (at < end && *at >= '0' && *at <= '9' && at - first < 16)
    digits = digits * 10 + (*at++ - '0');
  int point = 0;
  if (at < end && *at == '.') {
    point = 1;
    for (++at; at < end && *at >= '0' && *at <= '9' && at - first < 16; ++decimals)
      digits = digits * 10 + (*at++ - '0');
  }
  const bool is_short = at - first > point && at - first < 16;
  const bool goes_on = at < end && ((*at >= '0' && *at <= '9') || *at == 'e' || *at == 'E');
  if (is_short && !goes_on) {
    value = static_cast<double>(digits) / kPowers[decimals];
    if (is_negative) value = -value;
    return at;
  }
  const char* start = *from == '+' ? from + 1 : from;  // from_chars does not accept a plus sign
  if (from == end || start == end || (start != from && *start == '-')) return nullptr;
  const auto [stop, error] = std::from_chars(start, end, value);
  return error == std::errc() ? stop : nullptr;
}

}  // namespace tutti::learn
