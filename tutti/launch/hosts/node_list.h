// Compressed host lists of schedulers: "node[01-03,7],gpu2", "rack[0-1]n[1-2]".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::launch {

constexpr std::size_t kMaxHosts = 1 << 16;  // per job

// Expands the list in order; numbers keep their leading zeros. Throws ConfigError, which names `source`, for unbalanced
// brackets, descending ranges, characters that are not valid in host names, and more than kMaxHosts hosts. Memory is
// bounded by kMaxHosts, whatever the text.
std::vector<std::string> expand_node_list(std::string_view text, std::string_view source);

}  // namespace tutti::launch
