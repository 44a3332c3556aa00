// Memory that this process can still allocate. The kernel overcommits and kills the process later, so code that needs
// much memory checks first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

namespace tutti::os {

inline constexpr std::int64_t kUnlimitedMemory = std::numeric_limits<std::int64_t>::max();

// All values in bytes.
struct FreeMemory {
  std::int64_t machine = kUnlimitedMemory;         // MemAvailable of /proc/meminfo
  std::optional<std::int64_t> container = {};      // left under the tightest cgroup limit
  std::optional<std::int64_t> address_space = {};  // left under RLIMIT_AS (ulimit -v)

  std::int64_t bytes() const;  // the smallest of the three
  // Human-readable: "20.1 GiB on this machine, 3.0 GiB under the limit of its container (cgroup)".
  std::string text() const;
};

// Considers MemAvailable, RLIMIT_AS, and the limits of the cgroup (v1 and v2) of this process and all its ancestors.
// Page cache counts as free, because the kernel reclaims it. A limit that cannot be read is ignored. Reads /proc and
// /sys below `root`, which tests replace.
FreeMemory free_memory(const std::filesystem::path& root = "/");

}  // namespace tutti::os
