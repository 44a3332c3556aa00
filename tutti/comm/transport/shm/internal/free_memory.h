// How much memory this process may still take. The kernel does not say no in time: it lets shared
// pages be promised and then kills somebody. So whoever reserves asks here first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace tutti::comm::internal {

struct FreeMemory {
  std::int64_t machine = 0;  // bytes the machine can still give
  std::optional<std::int64_t> container =
      {};  // left under the tightest cgroup limit, if there is one
  std::int64_t bytes() const { return container ? std::min(machine, *container) : machine; }
  // "20.1 GiB on this machine, 3.0 GiB under the limit of its container (cgroup)"
  std::string text() const;
};

// Reads /proc and /sys below `root` (tests bring their own tree). What cannot be read limits
// nothing.
FreeMemory free_memory(const std::string& root = "");

// "1.5 GiB", for sentences.
std::string rounded_bytes(std::int64_t bytes);

}  // namespace tutti::comm::internal
