// Amounts of memory as people write them: 64, 1KiB, 256MiB, 1.5GB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti {

// Binary (KiB, or K alone) and decimal (kB, KB) units, upper or lower case; throws ConfigError on
// anything else.
std::int64_t parse_bytes(std::string_view text);

// Shortest exact binary form where there is one ("64MiB", "1000"), for tables and file names.
std::string format_bytes(std::int64_t bytes);

}  // namespace tutti
