// Names of enumerators in JSON.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tutti::lms {

inline constexpr std::array<std::string_view, 4> kCodecNames = {"none", "zero_suppressed", "bits",
                                                                "narrow_int64"};

// The name of `value`, whose enumerators are in the order of `names`.
template <class Enum, std::size_t size>
std::string_view enum_name(const std::array<std::string_view, size>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

// The enumerator with this name; the first one if no enumerator has it, with `is_known` set to false.
template <class Enum, std::size_t size>
Enum enum_value(const std::array<std::string_view, size>& names, std::string_view name,
                bool& is_known) {
  for (std::size_t index = 0; index < size; ++index) {
    if (names[index] == name) return static_cast<Enum>(index);
  }
  is_known = false;
  return Enum{};
}

}  // namespace tutti::lms
