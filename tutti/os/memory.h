// Memory that this process can still take. The kernel overcommits and kills a process later, so
// code that reserves much asks here first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

namespace tutti::os {

inline constexpr std::int64_t kUnlimitedMemory = std::numeric_limits<std::int64_t>::max();

// In bytes.
struct FreeMemory {
  std::int64_t machine = kUnlimitedMemory;         // MemAvailable of /proc/meminfo
  std::optional<std::int64_t> container = {};      // below the tightest cgroup limit
  std::optional<std::int64_t> address_space = {};  // below RLIMIT_AS (ulimit -v)

  std::int64_t bytes() const;  // the smallest
  // "20.1 GiB on this machine, 3.0 GiB under the limit of its container (cgroup)"
  std::string text() const;
};

// Counts MemAvailable, cgroup v1 and v2 with all groups above the own one, and RLIMIT_AS. Page
// cache counts as free: the kernel reclaims it. Files that cannot be read limit nothing. Reads
// /proc and /sys below `root`.
FreeMemory free_memory(const std::filesystem::path& root = "/");

// "1.5 GiB", for messages.
std::string rounded_bytes(std::int64_t bytes);

}  // namespace tutti::os
