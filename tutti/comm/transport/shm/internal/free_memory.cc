#include "tutti/comm/transport/shm/internal/free_memory.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>

namespace tutti::comm::internal {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// Where the two generations of cgroups keep their figures.
struct CgroupFiles {
  const char* controller;  // the word in /proc/self/cgroup
  const char* mount;
  const char* limit;
  const char* usage;
};
constexpr std::array<CgroupFiles, 2> kCgroups = {
    {{"", "/sys/fs/cgroup", "memory.max", "memory.current"},
     {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"}}};

std::optional<std::int64_t> number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;  // "max" is no number: no limit
}

// Sum of the values of the lines that begin with one of `keys`, as in memory.stat and meminfo.
template <std::size_t N>
std::optional<std::int64_t> sum_of(const std::filesystem::path& path,
                                   const std::array<std::string_view, N>& keys) {
  std::ifstream file(path);
  std::optional<std::int64_t> sum;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    std::int64_t value = 0;
    if (words >> key >> value && std::find(keys.begin(), keys.end(), key) != keys.end()) {
      sum = sum.value_or(0) + value;
    }
  }
  return sum;
}

// What is left below the limits of a group and all the groups above it. File cache counts as left:
// it gives way.
std::int64_t left_below(const std::filesystem::path& mount, const std::string& group,
                        const CgroupFiles& files) {
  std::int64_t left = kUnlimited;
  for (std::filesystem::path at = group;; at = at.parent_path()) {
    const auto folder = mount / at.relative_path();
    const auto limit = number_in(folder / files.limit);
    const auto usage = number_in(folder / files.usage);
    if (limit && usage) {
      const auto cache = sum_of(folder / "memory.stat",
                                std::array<std::string_view, 2>{"inactive_file", "active_file"});
      left = std::min(left, std::max<std::int64_t>(0, *limit - *usage + cache.value_or(0)));
    }
    if (at.relative_path().empty()) return left;
  }
}

}  // namespace

FreeMemory free_memory(const std::string& root) {
  FreeMemory free;
  const auto kilobytes =
      sum_of(root + "/proc/meminfo", std::array<std::string_view, 1>{"MemAvailable:"});
  free.machine = kilobytes ? *kilobytes * 1024 : kUnlimited;

  std::int64_t left = kUnlimited;
  std::ifstream groups(root + "/proc/self/cgroup");  // lines "number:controller:/path"
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controller = line.substr(first + 1, second - first - 1);
    for (const auto& files : kCgroups) {
      if (controller != files.controller) continue;
      left = std::min(left, left_below(root + files.mount, line.substr(second + 1), files));
    }
  }
  // "No limit" of the first generation is a number near 2^63.
  if (left < kUnlimited / 2) free.container = left;
  return free;
}

std::string rounded_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string FreeMemory::text() const {
  std::string text = rounded_bytes(machine) + " on this machine";
  if (container) {
    text += ", " + rounded_bytes(*container) + " under the limit of its container (cgroup)";
  }
  return text;
}

}  // namespace tutti::comm::internal
