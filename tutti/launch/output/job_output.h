// Output of a job: standard output, standard error, and the files of the run directory.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tutti/launch/output/write_thread.h"
#include "tutti/os/signal_fd.h"
#include "tutti/runs/job_folder.h"

namespace tutti::launch {

// Never blocks, except in drain(): every destination has a queue and a thread. The queues are unbounded; flow control
// is the caller's duty: it stops granting credit to ranks while has_room() is false. Not thread-safe.
class JobOutput {
 public:
  explicit JobOutput(runs::JobFolder& folder);

  // `file`: STDOUT_FILENO or STDERR_FILENO. If both are the same file, their order is kept.
  void print(int file, std::string text);
  // Same without a copy: `owner` keeps the text alive.
  using Owner = std::shared_ptr<const void>;
  void print(int file, std::string_view text, Owner owner);
  // Appends to a file of the run directory. A failure, such as a full disk, is reported once.
  void log(const std::shared_ptr<runs::LogFile>& file, std::string text);
  void log(const std::shared_ptr<runs::LogFile>& file, std::string_view text, Owner owner);
  void event(std::function<void(runs::EventLog&)> write);

  // True if `file` and its copy in a log are consumed fast enough.
  bool has_room(int file) const;
  // Becomes readable when there is room again or after a failure; call clear_wake() after each poll.
  int wake_file() const { return shared_->wake.get(); }
  void clear_wake() const;

  // True if the reader of standard output or standard error has closed it.
  bool has_lost_reader() const;
  // True if standard output or standard error could not be written for another reason.
  bool has_lost_output() const;
  // Prints one message for each file that could not be written.
  void report_failures();

  struct DrainEnd {
    bool is_drained = false;
    int signal = 0;  // signal that ended the wait
  };
  // Waits until everything is written, for at most `seconds` (0: no limit), or until a signal arrives.
  DrainEnd drain(const os::SignalFd& signals, double seconds);

 private:
  // Outlives this object if a write blocks.
  struct Shared {
    os::UniqueFd wake;
    std::array<std::atomic<int>, 3> errors{};  // errno by file descriptor
    std::atomic<int> log_error = 0;
    std::string log_path = {};  // set before log_error
    std::atomic<bool> is_draining = false;

    void wake_up() const;
    void progressed(std::size_t before, std::size_t after) const;
  };
  WriteThread& queue_of(int file);
  bool is_drained() const;

  std::shared_ptr<Shared> shared_;
  runs::JobFolder& folder_;
  std::array<bool, 4> is_reported_{};
  WriteThread standard_output_, logs_;
  std::optional<WriteThread> standard_error_;  // empty if it is the same file
};

}  // namespace tutti::launch
