// Reading zip archives.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tutti::io {

// Returns the content of each entry, stored or deflated, by name. `bytes` is the archive and `name` its name in
// messages. Verifies checksums. Throws IoError (DDL-9-03) if the archive or an entry is damaged.
std::map<std::string, std::string> unzip(std::string_view bytes, std::string_view name);

}  // namespace tutti::io
