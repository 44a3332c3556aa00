#include "bench/harness/interrupt.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace tutti::bench {

InterruptScope::InterruptScope() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &before_);
  fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

InterruptScope::~InterruptScope() {
  close(fd_);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void InterruptScope::check() const {
  signalfd_siginfo info;
  if (read(fd_, &info, sizeof info) == sizeof info)
    throw Interrupted(static_cast<int>(info.ssi_signo));
}

}  // namespace tutti::bench
