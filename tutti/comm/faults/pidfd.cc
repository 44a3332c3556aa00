#include "tutti/comm/faults/pidfd.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace tutti::comm {

char process_state(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  if (!std::getline(file, line)) return 0;
  // The command name may contain any character, also parentheses.
  const std::size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= line.size() ? 0 : line[name_end + 2];
}

int open_pidfd(pid_t process) {
  return static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
}

}  // namespace tutti::comm
