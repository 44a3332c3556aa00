#include "tutti/os/signal_fd.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace tutti::os {

SignalFd::SignalFd(std::initializer_list<int> signals) {
  sigset_t mask;
  ::sigemptyset(&mask);
  for (const int signal : signals) ::sigaddset(&mask, signal);
  ::sigprocmask(SIG_BLOCK, &mask, &old_mask_);
  file_ = UniqueFd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
}

SignalFd::~SignalFd() {
  ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
}

int SignalFd::take() const {
  signalfd_siginfo signal{};
  const bool is_there = ::read(file_.get(), &signal, sizeof signal) == sizeof signal;
  return is_there ? static_cast<int>(signal.ssi_signo) : 0;
}

}  // namespace tutti::os
