#include "tutti/topo/internal/system.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace tutti::topo::internal {
namespace {

namespace fs = std::filesystem;

// "150000 100000" is one and a half processors; "max 100000" and "-1" are no limit.
double limit_of(const std::string& quota, const std::string& period) {
  const double time = std::atof(quota.c_str()), of = std::atof(period.c_str());
  return time > 0 && of > 0 ? time / of : 0;
}

// Where 0 is no limit.
double smaller_limit(double a, double b) {
  return a == 0 || (b > 0 && b < a) ? b : a;
}

double limit_in(const fs::path& folder) {
  std::string quota, period;
  if (std::ifstream both(folder / "cpu.max"); both >> quota >> period)
    return limit_of(quota, period);
  std::ifstream(folder / "cpu.cfs_quota_us") >> quota;
  std::ifstream(folder / "cpu.cfs_period_us") >> period;
  return limit_of(quota, period);
}

// A container may see its own group as the root, so that the path is not below `mount`: then only
// what exists on the way up counts.
double smallest_limit(const fs::path& mount, const std::string& group) {
  double smallest = 0;
  for (fs::path path = fs::path(group).relative_path();; path = path.parent_path()) {
    smallest = smaller_limit(smallest, limit_in(mount / path));
    if (path.empty()) return smallest;
  }
}

bool has_controller(const std::string& controllers, const std::string& wanted) {
  std::istringstream stream(controllers);
  for (std::string one; std::getline(stream, one, ',');) {
    if (one == wanted) return true;
  }
  return false;
}

// The number at the end of "nvidia12" when it starts with `prefix` and nothing else is there; -1
// otherwise.
int device_number(const std::string& file, std::string_view prefix) {
  if (!file.starts_with(prefix) || file.size() == prefix.size() ||
      file.size() > prefix.size() + 6) {
    return -1;
  }
  const auto digits = file.begin() + static_cast<std::ptrdiff_t>(prefix.size());
  const bool is_number =
      std::all_of(digits, file.end(), [](unsigned char c) { return std::isdigit(c); });
  return is_number ? std::atoi(&*digits) : -1;
}

}  // namespace

double cpu_quota(const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  double smallest = 0;
  const auto take = [&](const fs::path& folder, const std::string& group) {
    smallest = smaller_limit(smallest, smallest_limit(folder, group));
  };
  // Lines are "number:controllers:path"; version 2 has number 0 and no controllers.
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      take(mount, group);
    } else if (has_controller(controllers, "cpu")) {
      take(mount / controllers, group);
      take(mount / "cpu", group);
    }
  }
  return smallest;
}

std::vector<Accelerator> accelerators_in(const fs::path& root) {
  static constexpr std::array<std::pair<const char*, std::string_view>, 3> kPlaces = {
      {{"dev", "nvidia"}, {"dev", "davinci"}, {"dev/accel", "accel"}}};
  std::vector<Accelerator> accelerators;
  for (const auto& [folder, prefix] : kPlaces) {
    std::vector<int> numbers;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root / folder, error)) {
      const int number = device_number(entry.path().filename().string(), prefix);
      if (number >= 0) numbers.push_back(number);
    }
    std::ranges::sort(numbers);
    for (const int number : numbers) {
      accelerators.push_back({.name = std::string(prefix) + std::to_string(number)});
    }
  }
  return accelerators;
}

}  // namespace tutti::topo::internal
