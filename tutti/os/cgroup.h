// Cgroups of the calling process.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace tutti::os {

// Returns the directories in /sys/fs/cgroup whose limits on `controller` ("cpu", "memory") apply to this process, for
// cgroup v1 and v2: its own cgroup and all ancestors, innermost first. A directory may not exist, because a container
// may see its own cgroup as the root. Reads /proc and /sys below `root`, which tests replace.
std::vector<std::filesystem::path> cgroup_directories(std::string_view controller,
                                                      const std::filesystem::path& root = "/");

}  // namespace tutti::os
