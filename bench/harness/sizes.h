// Message sizes as the command line gives them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tutti::bench {

// `1KiB..256MiB` (times 4 from one to the next), `1KiB..256MiBx2` (times 2), `64MiB`, or a list of
// these joined by commas. Both ends of a range are included, also when the last step does not meet
// the end. The result ascends and names no size twice. Throws ConfigError on anything else, and on
// sizes that are not whole f32 elements.
std::vector<std::int64_t> parse_sizes(std::string_view text);

}  // namespace tutti::bench
