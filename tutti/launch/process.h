// Programs that ddlrun starts.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "tutti/launch/environment.h"

namespace tutti::launch {

// An open file that closes itself.
class File {
 public:
  File() = default;
  explicit File(int number) : number_(number) {}
  ~File() { close(); }
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

// Raises the limit of open files of this process as far as it may: every rank takes two. Programs
// that Process starts get the old limit; some cannot use file numbers above 1023.
void raise_file_limit();

struct ProcessSpec {
  std::vector<std::string> words;            // the program first, looked up in PATH
  const Environment* environment = nullptr;  // added to ours
  std::string folder = {};                   // to start in; empty: ours
  enum class Input { kNone, kPipe, kOurs } input = Input::kNone;
  bool is_group = true;  // a process group of its own, so Ctrl-C reaches only us
};

// A running program; its output and errors are pipes. When this ends, so does the group.
class Process {
 public:
  // Throws IoError when it cannot be started at all; a program that is not there ends with 127.
  explicit Process(const ProcessSpec& spec);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t id() const { return id_; }
  File& input() { return input_; }
  File& output() { return output_; }
  const File& output() const { return output_; }
  File& errors() { return errors_; }
  const File& errors() const { return errors_; }
  // Readable (for poll) once the program has ended.
  int end_file() const { return end_.get(); }
  bool has_ended();
  // What the last has_ended() told.
  bool is_known_to_have_ended() const { return ended_; }
  // After its end: the exit code, 128 + signal for a killed one.
  int exit_code() const;
  // After its end: whether a signal ended it.
  bool was_killed() const;
  // "ended with exit code 7", "was killed by signal 9 (Killed)"
  std::string how_it_ended() const;
  void signal_group(int signal) const;

 private:
  pid_t id_ = -1;
  int status_ = 0;
  bool ended_ = false;
  File input_, output_, errors_, end_;
};

struct Outcome {
  int exit_code = 0;
  bool timed_out = false;
  std::string output, errors;
};

// Runs to the end, or kills it after `seconds`.
Outcome run(const ProcessSpec& spec, double seconds);

// The same for what waitpid tells of another.
std::string describe_end(int exit_code, int signal);

}  // namespace tutti::launch
