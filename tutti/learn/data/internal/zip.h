// The files inside of a zip file.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tutti::learn {

// Name and content of each, stored or deflated, checked by its checksum. Throws IoError that names
// `name` and the file inside.
std::map<std::string, std::string> unzip(std::string_view bytes, std::string_view name);

}  // namespace tutti::learn
