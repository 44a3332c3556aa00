#pragma once

#include <string>
#include <string_view>

namespace tutti {

// Text as a JSON string with its quotes.
std::string json_quoted(std::string_view text);

}  // namespace tutti
