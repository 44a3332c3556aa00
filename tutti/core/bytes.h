// Human-readable byte counts: 64, 1KiB, 256MiB, 1.5GB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti {

// Parses a byte count, rounded to the nearest integer. Units are case-insensitive: binary with KiB or K alone, decimal
// with KB. Throws ConfigError (DDL-1-02) if `text` is malformed or does not fit into 63 bits.
std::int64_t parse_bytes(std::string_view text);

// Formats a byte count exactly, with the largest binary unit that divides it ("64MiB", "1000"). parse_bytes() returns
// the same count.
std::string format_bytes(std::int64_t bytes);

}  // namespace tutti
