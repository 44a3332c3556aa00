// Child processes.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tutti/os/environment.h"
#include "tutti/os/unique_fd.h"

namespace tutti::os {

// Raises the soft limit on open files (RLIMIT_NOFILE) to the hard limit. Programs that Process starts get the old
// limit, because some cannot use descriptors above 1023. Not thread-safe.
void raise_file_limit();

struct ProcessSpec {
  std::vector<std::string> arguments;         // the first is the program, looked up in PATH
  std::vector<std::string> environment = {};  // "NAME=value", overrides inherited variables
  std::vector<int> cpus = {};                 // affinity; empty: that of this process
  std::string directory = {};                 // working directory; empty: that of this process
  enum class Input { kNone, kPipe, kInherit } input = Input::kNone;
  enum class Output { kPipes, kInherit } output = Output::kPipes;
  bool is_group = true;  // new process group, so Ctrl-C in the terminal does not reach the child
};

// A child process. It receives SIGTERM when the thread that started it exits. Not thread-safe.
//
// Life cycle: the constructor forks and calls exec. end_fd() becomes readable at the end of the program; has_ended()
// reaps it. stop() and the destructor kill it and the rest of its process group, including grandchildren. For
// descendants that have left the group, see process_tree.h.
class Process {
 public:
  // Throws IoError (DDL-3-17) if no process can be created. If the program cannot be executed, the child prints the
  // reason on its standard error and exits with 127.
  explicit Process(const ProcessSpec& spec);
  // Appends standard output and standard error to the file `log`, created with mode 0600. stop() and the destructor
  // send SIGTERM and wait 2 seconds before they kill the group.
  Process(const ProcessSpec& spec, const std::filesystem::path& log);
  ~Process() { stop(0); }
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t id() const { return id_; }
  // Ends of the pipes to standard input and from standard output and error; closed if there is no such pipe.
  UniqueFd& input() { return input_; }
  UniqueFd& output() { return output_; }
  const UniqueFd& output() const { return output_; }
  UniqueFd& errors() { return errors_; }
  const UniqueFd& errors() const { return errors_; }
  // A pidfd, for poll: readable once the program has ended.
  int end_fd() const { return end_.get(); }
  // Reaps the process if it has ended. Does not block.
  bool has_ended();
  // Result of the last has_ended(), without a system call.
  bool is_known_to_have_ended() const { return ended_; }
  // True if it has ended with exit code 0.
  bool succeeded() { return has_ended() && status_ == 0; }
  // Exit code, or 128 + signal. Valid after has_ended().
  int exit_code() const;
  // Signal that killed it; 0: none. Valid after has_ended().
  int end_signal() const;
  // Human-readable: "ended with exit code 7", "was killed by signal 9 (Killed)" or "runs".
  std::string how_it_ended();

  // Sends `signal` to the process group, or to the process if it has no group.
  void signal_group(int signal) const;
  // Blocks for at most `seconds`; returns has_ended().
  bool wait_for_end(double seconds);
  // Waits for at most `seconds`, then kills the process group; with a log, after SIGTERM and 2 more seconds.
  void stop(double seconds);

 private:
  void start(const ProcessSpec& spec, int input, int output, int errors);

  pid_t id_ = -1;
  int status_ = 0;
  bool ended_ = false;
  double grace_seconds_ = 0;  // between SIGTERM and SIGKILL
  UniqueFd input_, output_, errors_, end_;
};

struct Outcome {
  int exit_code = 0;       // 128 + signal if killed
  bool timed_out = false;  // then the exit code has no meaning
  std::string output, errors;
};

// Runs a program and collects its output. Kills it after `seconds`. Does not wait for descendants that keep the pipes
// open. Throws IoError (DDL-3-17) if no process can be created.
Outcome run(const ProcessSpec& spec, double seconds);

// Replaces this process with a program, looked up in PATH. Returns only on failure and sets errno.
void exec_program(const std::vector<std::string>& arguments);

// Human-readable: "ended with exit code 7", or "was killed by signal 9 (Killed)" if `signal` is not 0.
std::string describe_end(int exit_code, int signal);

// Exit code in a status from waitpid; 128 + signal for a killed process.
int exit_code_of(int status);

// The variables as "NAME=value" entries, for ProcessSpec::environment.
std::vector<std::string> entries_of(const Environment& environment);

}  // namespace tutti::os
