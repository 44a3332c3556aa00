// Reading zip archives.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tutti::io {

// Returns the name and content of each entry, stored or deflated; checksums are verified. `name` is
// the archive's name in messages. Throws IoError (DDL-9-03).
std::map<std::string, std::string> unzip(std::string_view bytes, std::string_view name);

}  // namespace tutti::io
