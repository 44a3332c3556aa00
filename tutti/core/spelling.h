// Suggestions for misspelled names.
#pragma once

#include <span>
#include <string_view>

namespace tutti {

// Returns the name in `known` that was most likely meant by `word`; empty if there is none. That is the name with the
// smallest edit distance, at most 2 and below the length of `word`; else the only name that starts with `word`, which
// must have at least 2 characters. The result refers to the characters of `known`.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known);

}  // namespace tutti
