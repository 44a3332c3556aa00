// Signals as a file descriptor for poll loops.
#pragma once

#include <signal.h>

#include <initializer_list>

#include "tutti/os/unique_fd.h"

namespace tutti::os {

// Blocks `signals` in the calling thread and makes them readable from a descriptor. The destructor restores the signal
// mask, so it must run in the same thread. Create it before other threads: they inherit the mask, and a thread that
// does not block a signal can still receive it.
class SignalFd {
 public:
  explicit SignalFd(std::initializer_list<int> signals);
  ~SignalFd();
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;

  int get() const { return file_.get(); }
  // Removes and returns the next pending signal; 0 if there is none. Does not block.
  int take() const;

 private:
  sigset_t old_mask_{};
  UniqueFd file_;
};

}  // namespace tutti::os
