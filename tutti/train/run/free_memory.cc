#include "tutti/train/run/free_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace tutti::train {
namespace {

namespace fs = std::filesystem;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The number behind `key` in a file of lines; `otherwise` when there is none. An empty key: the
// file is the number.
double number_in(const fs::path& path, const std::string& key, double otherwise) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    double value = 0;
    if (key.empty()) return std::istringstream(word) >> value ? value : otherwise;
    if (word == key && file >> value) return value;
  }
  return otherwise;
}

struct Names {
  const char *mount, *limit, *usage;
};

// What the groups from `path` up leave. File cache counts as used there, and can be taken.
double left_in_groups(const fs::path& root, const fs::path& path, const Names& names) {
  double left = kNoLimit;
  for (fs::path at = path;; at = at.parent_path()) {
    const fs::path folder = root / names.mount / at.relative_path();
    const double limit = number_in(folder / names.limit, "", kNoLimit),
                 usage = number_in(folder / names.usage, "", 0),
                 cache = number_in(folder / "memory.stat", "inactive_file", 0) +
                         number_in(folder / "memory.stat", "active_file", 0);
    left = std::min(left, std::max(0.0, limit - usage + cache));
    if (at.relative_path().empty()) return left;
  }
}

}  // namespace

double free_memory(const std::string& root) {
  const fs::path base = root.empty() ? "/" : root;
  double left = number_in(base / "proc/meminfo", "MemAvailable:", kNoLimit) * 1024;
  std::ifstream groups(base / "proc/self/cgroup");  // lines "number:controller:/path"
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controller = line.substr(first + 1, second - first - 1);
    const fs::path path = line.substr(second + 1);
    if (controller.empty())
      left = std::min(
          left, left_in_groups(base, path, {"sys/fs/cgroup", "memory.max", "memory.current"}));
    if (controller == "memory")
      left = std::min(left, left_in_groups(base, path,
                                           {"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                            "memory.usage_in_bytes"}));
  }
  rlimit own{};
  if (getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur != RLIM_INFINITY) {
    const double used = number_in(base / "proc/self/status", "VmSize:", 0) * 1024;
    left = std::min(left, std::max(0.0, double(own.rlim_cur) - used));
  }
  return left;
}

}  // namespace tutti::train
