#pragma once

#include <filesystem>
#include <string>

namespace tutti::os {

// All of a file; empty when it cannot be read, or is a folder.
std::string read_text(const std::filesystem::path& file);

}  // namespace tutti::os
