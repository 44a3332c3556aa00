// Environment of this process: variables, host name, installation prefix.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace tutti::os {

using Environment = std::map<std::string, std::string>;

// Looks up a variable; returns nullptr if it is not set. Tests pass a custom function.
using Getenv = std::function<const char*(const char*)>;

// A copy of the environment of the calling process.
Environment own_environment();

// std::getenv(), as a Getenv.
const char* get_variable(const char* name);

// Name of this host (gethostname), at most 255 characters; "unknown" if the call fails.
std::string host_name();

// The directory with bin, libexec/tutti and python that the running program belongs to. Build trees and installations
// have the same layout.
std::filesystem::path prefix();

// Selects the AVX-512 kernels of OpenBLAS (OPENBLAS_CORETYPE=SkylakeX) on CPUs that have AVX-512, for this process and
// its children. A value set by the user takes precedence. Call it before OpenBLAS is loaded. OpenBLAS recognises CPUs
// by model and runs unknown ones with kernels for a Pentium 4, at a quarter of the speed or less.
void set_openblas_kernels();

}  // namespace tutti::os
