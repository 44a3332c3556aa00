// Ctrl-C as an event that a poll can wait for, so long runs can leave through their destructors.
#pragma once

#include <signal.h>

#include <stdexcept>

#include "tutti/os/signal_fd.h"

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
  int fd() const { return signals_.get(); }
  // Throws Interrupted when a signal has come.
  void check() const {
    if (const int signal = signals_.take()) throw Interrupted(signal);
  }

 private:
  os::SignalFd signals_{SIGINT, SIGTERM, SIGHUP};
};

}  // namespace tutti::bench
