#include "tutti/launch/signal_file.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace tutti::launch {

SignalFile::SignalFile(std::initializer_list<int> signals) {
  sigset_t mask;
  ::sigemptyset(&mask);
  for (const int signal : signals) ::sigaddset(&mask, signal);
  ::sigprocmask(SIG_BLOCK, &mask, &old_mask_);
  file_ = File(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
}

SignalFile::~SignalFile() {
  ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
}

int SignalFile::take() const {
  signalfd_siginfo signal{};
  const bool is_there = ::read(file_.get(), &signal, sizeof signal) == sizeof signal;
  return is_there ? static_cast<int>(signal.ssi_signo) : 0;
}

}  // namespace tutti::launch
