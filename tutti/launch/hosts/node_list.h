// Host names as schedulers shorten them: "node[01-03,7],gpu2", "rack[0-1]n[1-2]".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::launch {

constexpr std::size_t kMaxHosts = 1 << 16;  // of one job

// In order, numbers keep their leading zeros. Throws ConfigError that names `source` on brackets
// that do not match, ranges that fall, names with other letters than those of host names, or more
// than kMaxHosts hosts. Memory is bounded by kMaxHosts, whatever the text says.
std::vector<std::string> expand_node_list(std::string_view text, std::string_view source);

}  // namespace tutti::launch
