#include "tutti/os/process_tree.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include "tutti/core/clock.h"

namespace tutti::os {
namespace {

// Parent id in the line of /proc/<pid>/stat. It follows the process name in parentheses, which may itself contain
// parentheses and spaces.
pid_t parent_of(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return 0;
  std::istringstream rest(stat.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return parent;
}

// Calls `visit` with each process id and its directory in /proc.
template <class Visit>
void for_each_process(Visit visit) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error == std::errc() && end == name.data() + name.size()) visit(process, entry.path());
  }
}

std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> all;
  for_each_process([&](pid_t process, const std::filesystem::path& folder) {
    std::ifstream file(folder / "stat");
    std::string stat;
    std::getline(file, stat);
    all.emplace(parent_of(stat), process);
  });
  return all;
}

// Entries are terminated by NUL. The file is empty or unreadable for zombies and processes of other users.
bool has_entry(const std::filesystem::path& folder, const std::string& entry) {
  std::ifstream file(folder / "environ", std::ios::binary);
  for (std::string one; std::getline(file, one, '\0');) {
    if (one == entry) return true;
  }
  return false;
}

}  // namespace

void become_subreaper() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::vector<pid_t> descendants() {
  const std::multimap<pid_t, pid_t> children = children_by_parent();
  std::vector<pid_t> found = {::getpid()};
  for (std::size_t at = 0; at < found.size(); ++at) {
    const auto [begin, end] = children.equal_range(found[at]);
    for (auto child = begin; child != end; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

void signal_descendants(int signal) {
  for (const pid_t process : descendants()) ::kill(process, signal);
}

int kill_processes_with(const std::string& entry, double seconds) {
  int killed = 0;
  for (const Stopwatch watch; watch.seconds() < seconds;) {
    int found = 0;
    for_each_process([&](pid_t process, const std::filesystem::path& folder) {
      if (process == ::getpid() || !has_entry(folder, entry)) return;
      if (::kill(process, SIGKILL) == 0) ++found;
    });
    killed = std::max(killed, found);
    if (found == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return killed;
}

void kill_descendants(double seconds) {
  for (const Stopwatch watch; watch.seconds() < seconds;) {
    signal_descendants(SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (::waitpid(-1, nullptr, WNOHANG) < 0) return;  // no child left
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace tutti::os
