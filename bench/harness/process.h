// A started program that cannot outlive its owner.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tutti::bench {

struct ProcessSpec {
  std::vector<std::string> arguments;    // the program first, looked up in PATH
  std::vector<std::string> environment;  // "NAME=value", added to ours
  std::vector<int> cores = {};           // it may run on; empty: on all
};

// Runs in a process group of its own, so that Ctrl-C reaches its owner alone; gets SIGTERM when the
// owner dies. Standard output and error go to the end of `log`, standard input is empty.
class Process {
 public:
  // Throws IoError when the program cannot be started.
  Process(const ProcessSpec& spec, const std::filesystem::path& log);
  ~Process() { stop(0); }
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  // Readable (for poll) once the program has ended.
  int end_fd() const { return end_fd_; }
  bool has_ended();
  // Ended, and with code 0.
  bool succeeded() { return has_ended() && status_ == 0; }
  // "ended with code 1", "was killed by signal 9 (Killed)", "runs".
  std::string how_it_ended();

  // Waits at most `seconds`; whether it has ended.
  bool wait_for_end(double seconds);
  // Waits `seconds` for the end, then asks the group to end (SIGTERM), then kills it.
  void stop(double seconds);

 private:
  pid_t pid_ = -1;
  int end_fd_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

// The last `lines` lines of a text file, each indented by four blanks.
std::string last_lines(const std::filesystem::path& file, int lines);

}  // namespace tutti::bench
