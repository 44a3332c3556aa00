// Environment of this process: variables, host, installation.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace tutti::os {

using Environment = std::map<std::string, std::string>;

// Looks a variable up; nullptr if it is not set. Tests pass their own.
using Getenv = std::function<const char*(const char*)>;

// The environment of the calling process.
Environment own_environment();

// std::getenv.
const char* get_variable(const char* name);

// Name of this host (gethostname), at most 255 letters.
std::string host_name();

// The folder of bin, libexec/tutti and python to which the running program belongs: build trees and
// installations have the same shape.
std::filesystem::path prefix();

// Sets OPENBLAS_CORETYPE for this process, before it has loaded OpenBLAS, and for all that it
// starts; a value of the user wins. OpenBLAS recognises CPUs by their model and runs unknown ones
// with kernels for a Pentium 4, at a quarter of the speed or less.
void set_openblas_kernels();

}  // namespace tutti::os
