// Byte counts for messages.
#pragma once

#include <cstdint>
#include <string>

namespace tutti {

// Three significant digits and a binary unit: "1.41 GiB", "512 MiB".
std::string rounded_bytes(std::int64_t bytes);

// `bytes` rounded up to a value that parse_bytes() accepts: "1445MiB".
std::string rounded_up_bytes(std::int64_t bytes);

}  // namespace tutti
