#include "tutti/os/cgroup.h"

#include <fstream>
#include <sstream>
#include <string>

namespace tutti::os {
namespace {

namespace fs = std::filesystem;

bool has_controller(const std::string& controllers, std::string_view wanted) {
  std::istringstream stream(controllers);
  for (std::string one; std::getline(stream, one, ',');) {
    if (one == wanted) return true;
  }
  return false;
}

void add_with_parents(const fs::path& mount, const std::string& group,
                      std::vector<fs::path>* directories) {
  for (fs::path path = fs::path(group).relative_path();; path = path.parent_path()) {
    directories->push_back(mount / path);
    if (path.empty()) return;
  }
}

}  // namespace

std::vector<fs::path> cgroup_directories(std::string_view controller, const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  std::vector<fs::path> directories;
  std::ifstream groups(root / "proc/self/cgroup");
  // Each line is "hierarchy:controllers:path"; cgroup v2 has no controllers.
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      add_with_parents(mount, group, &directories);
    } else if (has_controller(controllers, controller)) {
      add_with_parents(mount / controllers, group, &directories);
      if (controllers != controller) add_with_parents(mount / controller, group, &directories);
    }
  }
  return directories;
}

}  // namespace tutti::os
