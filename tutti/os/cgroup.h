// Control groups (cgroups) of the calling process.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace tutti::os {

// Directories with the limits of `controller` ("cpu", "memory") for this process, of cgroup v2 and
// v1: those of its own group and of every group above it. Some may not exist: a container may see
// its own group as the root. Reads /proc and /sys below `root`.
std::vector<std::filesystem::path> cgroup_directories(std::string_view controller,
                                                      const std::filesystem::path& root = "/");

}  // namespace tutti::os
