// Signals as a file descriptor for poll loops.
#pragma once

#include <signal.h>

#include <initializer_list>

#include "tutti/launch/process.h"

namespace tutti::launch {

// Blocks `signals` in the calling thread while it exists and makes them readable instead.
class SignalFile {
 public:
  explicit SignalFile(std::initializer_list<int> signals);
  ~SignalFile();
  SignalFile(const SignalFile&) = delete;
  SignalFile& operator=(const SignalFile&) = delete;

  int get() const { return file_.get(); }
  // The next pending signal; 0 if there is none.
  int take() const;

 private:
  sigset_t old_mask_{};
  File file_;
};

}  // namespace tutti::launch
