// Where the parts of the project lie.
#pragma once

#include <filesystem>

namespace tutti {

// The folder of bin, libexec/tutti and python to which the running program belongs: build trees and
// installations have the same shape.
std::filesystem::path prefix();

}  // namespace tutti
