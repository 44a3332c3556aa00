#include "tutti/os/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "tutti/core/rounded_bytes.h"
#include "tutti/os/cgroup.h"

namespace tutti::os {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;  // "max" means no limit
}

// The number that follows `key` in a file of "key number" lines.
std::optional<std::int64_t> number_after(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  std::int64_t value = 0;
  for (std::string word; file >> word;) {
    if (word == key && file >> value) return value;
  }
  return std::nullopt;
}

std::int64_t left_in_cgroup(const fs::path& directory) {
  bool is_version_2 = true;
  auto limit = number_in(directory / "memory.max");
  if (!limit) {
    is_version_2 = false;
    limit = number_in(directory / "memory.limit_in_bytes");
  }
  // cgroup v1 stores "no limit" as a number near 2^63.
  if (!limit || *limit > kUnlimitedMemory / 2) return kUnlimitedMemory;
  const auto usage =
      number_in(directory / (is_version_2 ? "memory.current" : "memory.usage_in_bytes"));
  const auto cache = number_after(directory / "memory.stat", "inactive_file").value_or(0) +
                     number_after(directory / "memory.stat", "active_file").value_or(0);
  return std::max<std::int64_t>(0, *limit - usage.value_or(0) + cache);
}

std::optional<std::int64_t> left_in_address_space(const fs::path& root) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const auto used = number_after(root / "proc/self/status", "VmSize:").value_or(0) * 1024;
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - used);
}

}  // namespace

FreeMemory free_memory(const fs::path& root) {
  FreeMemory free;
  if (const auto kilobytes = number_after(root / "proc/meminfo", "MemAvailable:"))
    free.machine = *kilobytes * 1024;
  std::int64_t left = kUnlimitedMemory;
  for (const fs::path& directory : cgroup_directories("memory", root))
    left = std::min(left, left_in_cgroup(directory));
  if (left < kUnlimitedMemory) free.container = left;
  free.address_space = left_in_address_space(root);
  return free;
}

std::int64_t FreeMemory::bytes() const {
  return std::min({machine, container.value_or(machine), address_space.value_or(machine)});
}

std::string FreeMemory::text() const {
  std::string text = rounded_bytes(machine) + " on this machine";
  if (container)
    text += ", " + rounded_bytes(*container) + " under the limit of its container (cgroup)";
  if (address_space)
    text += ", " + rounded_bytes(*address_space) + " under its limit of address space (ulimit -v)";
  return text;
}

}  // namespace tutti::os
