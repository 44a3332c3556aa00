// Ctrl-C as an event that a poll can wait for, so that whoever runs long can leave through its
// destructors.
#pragma once

#include <signal.h>

#include <stdexcept>

namespace tutti::bench {

// Thrown when the user wants to stop; the program ends with 128 + signal.
struct Interrupted : std::runtime_error {
  explicit Interrupted(int signal_number)
      : std::runtime_error("interrupted"), signal(signal_number) {}
  int signal;
};

// While this lives, SIGINT, SIGTERM and SIGHUP do not end the process but make fd() readable.
// One per process, made before any other thread starts.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  int fd() const { return fd_; }
  // Throws Interrupted when a signal has come.
  void check() const;

 private:
  int fd_ = -1;
  sigset_t before_{};
};

}  // namespace tutti::bench
