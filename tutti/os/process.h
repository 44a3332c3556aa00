// Child processes.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tutti/os/environment.h"
#include "tutti/os/unique_fd.h"

namespace tutti::os {

// Raises the limit of open files of this process to its maximum. Programs that Process starts get
// the old limit; some cannot use descriptors above 1023.
void raise_file_limit();

struct ProcessSpec {
  std::vector<std::string> arguments;         // the program first, looked up in PATH
  std::vector<std::string> environment = {};  // "NAME=value", replaces variables of this process
  std::vector<int> cpus = {};                 // affinity; empty: that of this process
  std::string directory = {};                 // working directory; empty: that of this process
  enum class Input { kNone, kPipe, kInherit } input = Input::kNone;
  enum class Output { kPipes, kInherit } output = Output::kPipes;
  bool is_group = true;  // a separate process group, so Ctrl-C reaches only this process
};

// A running program. It gets SIGTERM when the thread that started it dies. The destructor kills it
// and what remains of its process group.
class Process {
 public:
  // Throws IoError if the system cannot start a process. A program that does not exist exits with
  // 127.
  explicit Process(const ProcessSpec& spec);
  // Appends output and errors to the file `log`. The destructor sends SIGTERM first and kills two
  // seconds later.
  Process(const ProcessSpec& spec, const std::filesystem::path& log);
  ~Process() { stop(0); }
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t id() const { return id_; }
  UniqueFd& input() { return input_; }
  UniqueFd& output() { return output_; }
  const UniqueFd& output() const { return output_; }
  UniqueFd& errors() { return errors_; }
  const UniqueFd& errors() const { return errors_; }
  // Readable (for poll) once the program has ended.
  int end_fd() const { return end_.get(); }
  bool has_ended();
  // Result of the last has_ended().
  bool is_known_to_have_ended() const { return ended_; }
  // Has ended with exit code 0.
  bool succeeded() { return has_ended() && status_ == 0; }
  // After its end: the exit code, or 128 + signal.
  int exit_code() const;
  // After its end: the signal that killed it; 0: none.
  int end_signal() const;
  // "ended with exit code 7", "was killed by signal 9 (Killed)", "runs"
  std::string how_it_ended();

  void signal_group(int signal) const;
  // Waits at most `seconds`; returns has_ended().
  bool wait_for_end(double seconds);
  // Waits `seconds` for the end, then kills the group, after SIGTERM if there is a log.
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
  int exit_code = 0;
  bool timed_out = false;
  std::string output, errors;
};

// Runs a program to its end, or kills it after `seconds`.
Outcome run(const ProcessSpec& spec, double seconds);

// Replaces this process by a program, looked up in PATH. Returns only on failure; errno says why.
void exec_program(const std::vector<std::string>& arguments);

// "ended with exit code 7", "was killed by signal 9 (Killed)"; signal 0: none.
std::string describe_end(int exit_code, int signal);

// Exit code of a status from waitpid; 128 + signal for a killed process.
int exit_code_of(int status);

// "NAME=value" entries for ProcessSpec.
std::vector<std::string> entries_of(const Environment& environment);

}  // namespace tutti::os
