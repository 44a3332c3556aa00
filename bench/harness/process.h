// Processes that a benchmark starts.
#pragma once

#include <filesystem>
#include <string>

#include "tutti/os/process.h"

namespace tutti::bench {

using os::Process;
using os::ProcessSpec;

// The last `lines` lines of a text file, each indented by four spaces.
std::string last_lines(const std::filesystem::path& file, int lines);

}  // namespace tutti::bench
