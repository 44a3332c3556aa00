// Reads entire files.
#pragma once

#include <filesystem>
#include <string>

namespace tutti::os {

// Returns the content of a file; empty if it is a directory or cannot be read.
std::string read_text(const std::filesystem::path& file);

}  // namespace tutti::os
