// Message sizes on the command line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tutti::bench {

// `1KiB..256MiB` (factor 4), `1KiB..256MiBx2` (factor 2), `64MiB`, or a comma-separated list of these. Both ends of a
// range are included, even if the last step does not reach the end. The result is ascending and has no duplicates.
// Throws ConfigError for anything else, and for sizes that are not multiples of an f32 element.
std::vector<std::int64_t> parse_sizes(std::string_view text);

}  // namespace tutti::bench
