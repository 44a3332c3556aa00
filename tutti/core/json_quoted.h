// JSON string literals.
#pragma once

#include <string>
#include <string_view>

namespace tutti {

// Returns `text` as a JSON string, escaped and in quotes.
std::string json_quoted(std::string_view text);

}  // namespace tutti
