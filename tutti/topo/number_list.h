// Lists of small numbers (ranks, CPUs) in the form "0-3,8".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::topo {

// Keeps the order; three or more consecutive ascending numbers become a range. Empty: "none".
std::string format_list(std::span<const int> numbers);

// The inverse. Throws ConfigError for anything except numbers, ascending ranges and commas, and for numbers above 16
// million.
std::vector<int> parse_list(std::string_view text);

}  // namespace tutti::topo
