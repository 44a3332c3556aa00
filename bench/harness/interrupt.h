// Ctrl-C as an event that poll can wait for, so that long runs can unwind through their destructors.
#pragma once

#include <signal.h>

#include <stdexcept>

#include "tutti/os/signal_fd.h"

namespace tutti::bench {

// Thrown on a stop signal; the program exits with 128 + signal.
struct Interrupted : std::runtime_error {
  explicit Interrupted(int signal_number)
      : std::runtime_error("interrupted"), signal(signal_number) {}
  int signal;
};

// While an object exists, SIGINT, SIGTERM and SIGHUP make fd() readable instead of killing the process. One per
// process, created before any other thread starts.
class InterruptScope {
 public:
  int fd() const { return signals_.get(); }
  // Throws Interrupted if a signal has arrived.
  void check() const {
    if (const int signal = signals_.take()) throw Interrupted(signal);
  }

 private:
  os::SignalFd signals_{SIGINT, SIGTERM, SIGHUP};
};

}  // namespace tutti::bench
