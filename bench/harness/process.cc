#include "bench/harness/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <fstream>
#include <utility>

#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

constexpr double kGraceSeconds = 2;  // between SIGTERM and SIGKILL

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Our environment, with `added` in place of what it has under the same names.
std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
  auto name_of = [](const std::string& entry) { return entry.substr(0, entry.find('=') + 1); };
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    bool replaced = false;
    for (const std::string& each : added)
      replaced |= std::string(*entry).starts_with(name_of(each));
    if (!replaced) result.emplace_back(*entry);
  }
  result.insert(result.end(), added.begin(), added.end());
  return result;
}

// Between fork and exec only calls that are safe after a fork of a process with threads.
[[noreturn]] void become(const ProcessSpec& spec, char** arguments, char** environment, int log) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (!spec.cores.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int core : spec.cores) CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  int empty = open("/dev/null", O_RDONLY);
  dup2(empty, 0);
  dup2(log, 1);
  dup2(log, 2);
  execvpe(arguments[0], arguments, environment);
  dprintf(2, "cannot start %s: %s\n", arguments[0], strerror(errno));
  _exit(127);
}

}  // namespace

Process::Process(const ProcessSpec& spec, const std::filesystem::path& log) {
  std::vector<std::string> arguments = spec.arguments;
  std::vector<std::string> environment = merged_environment(spec.environment);
  std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
  int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  pid_ = log_fd < 0 ? -1 : fork();
  if (pid_ == 0) become(spec, argv.data(), envp.data(), log_fd);
  int error = errno;
  close(log_fd);
  if (pid_ < 0)
    throw IoError("DDL-8-20",
                  fmt::format("Cannot start {}: {}.", arguments.front(), strerror(error)));
  setpgid(pid_, pid_);  // whichever of the two is first
  end_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      end_fd_(std::exchange(other.end_fd_, -1)),
      status_(other.status_),
      ended_(std::exchange(other.ended_, true)) {}

bool Process::has_ended() {
  if (!ended_ && pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
  return ended_;
}

std::string Process::how_it_ended() {
  if (!has_ended()) return "runs";
  if (WIFSIGNALED(status_))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status_),
                       strsignal(WTERMSIG(status_)));
  return fmt::format("ended with code {}", WEXITSTATUS(status_));
}

bool Process::wait_for_end(double seconds) {
  pollfd end{end_fd_, POLLIN, 0};
  if (!has_ended() && seconds > 0) poll(&end, 1, static_cast<int>(seconds * 1000));
  return has_ended();
}

void Process::stop(double seconds) {
  if (pid_ < 0) return;
  if (!wait_for_end(seconds)) {
    kill(-pid_, SIGTERM);
    if (!wait_for_end(kGraceSeconds)) {
      kill(-pid_, SIGKILL);
      waitpid(pid_, &status_, 0);
      ended_ = true;
    }
  }
  kill(-pid_, SIGKILL);  // what the program left behind in its group
  close(end_fd_);
  pid_ = -1;
}

std::string last_lines(const std::filesystem::path& file, int lines) {
  std::ifstream stream(file);
  std::deque<std::string> last;
  for (std::string line; std::getline(stream, line);) {
    last.push_back(line);
    if (last.size() > static_cast<std::size_t>(lines)) last.pop_front();
  }
  std::string text;
  for (const std::string& line : last) text += "    " + line + "\n";
  return text;
}

}  // namespace tutti::bench
