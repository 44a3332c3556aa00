#include "tutti/topo/internal/system.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tutti/os/cgroup.h"

namespace tutti::topo::internal {
namespace {

namespace fs = std::filesystem;

// "150000 100000" is 1.5 CPUs; "max 100000" and "-1" mean no limit.
double limit_of(const std::string& quota, const std::string& period) {
  const double time = std::atof(quota.c_str()), of = std::atof(period.c_str());
  return time > 0 && of > 0 ? time / of : 0;
}

// The smaller limit; 0 means no limit.
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

// The number at the end of a name such as "nvidia12" that consists of `prefix` and a number; -1 otherwise.
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
  double smallest = 0;
  for (const fs::path& directory : os::cgroup_directories("cpu", root))
    smallest = smaller_limit(smallest, limit_in(directory));
  return smallest;
}

std::vector<Accelerator> accelerators_in(const fs::path& root) {
  static constexpr std::array<std::pair<const char*, std::string_view>, 3> kDirectories = {
      {{"dev", "nvidia"}, {"dev", "davinci"}, {"dev/accel", "accel"}}};
  std::vector<Accelerator> accelerators;
  for (const auto& [folder, prefix] : kDirectories) {
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
