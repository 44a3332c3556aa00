// Lists of small numbers (ranks, CPUs) as people write them: "0-3,8".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::topo {

// Keeps the order; three or more consecutive rising numbers become a range. Empty: "none".
std::string format_list(std::span<const int> numbers);

// The inverse; throws ConfigError on anything but numbers, rising ranges and commas, or above 16
// million.
std::vector<int> parse_list(std::string_view text);

}  // namespace tutti::topo
