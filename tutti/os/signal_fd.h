// Signals as a file descriptor for poll loops.
#pragma once

#include <signal.h>

#include <initializer_list>

#include "tutti/os/unique_fd.h"

namespace tutti::os {

// Blocks `signals` in the calling thread while it exists and makes them readable instead.
class SignalFd {
 public:
  explicit SignalFd(std::initializer_list<int> signals);
  ~SignalFd();
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;

  int get() const { return file_.get(); }
  // The next pending signal; 0 if there is none.
  int take() const;

 private:
  sigset_t old_mask_{};
  UniqueFd file_;
};

}  // namespace tutti::os
