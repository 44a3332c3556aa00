#include "tutti/lms/pager/fault_handler.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <exception>

#include "tutti/core/error.h"
#include "tutti/core/mutex.h"
#include "tutti/lms/pager/pager.h"

namespace tutti::lms {
namespace {

std::array<std::atomic<Pager*>, 64> pagers;
struct sigaction previous_action = {};

// The faulting instruction is an access to tensor memory. It never holds a lock of the pager or of malloc, so the
// handler may use both.
bool is_handled(void* address) {
  for (std::atomic<Pager*>& each : pagers) {
    Pager* const pager = each.load(std::memory_order_acquire);
    if (!pager) return false;
    try {
      if (pager->handle_fault(address)) return true;
    } catch (const std::exception& error) {
      const char* const text = error.what();
      // An exception cannot propagate through the interrupted code.
      if (::write(STDERR_FILENO, "tutti: ", 7) < 0 ||
          ::write(STDERR_FILENO, text, ::strlen(text)) < 0 || ::write(STDERR_FILENO, "\n", 1) < 0)
        return false;
      return false;
    }
  }
  return false;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  if (is_handled(info->si_addr)) {
    errno = error;
    return;
  }
  if (previous_action.sa_flags & SA_SIGINFO) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else {
    ::signal(signal, SIG_DFL);  // the instruction faults again and ends the process
  }
}

}  // namespace

void serve_faults(Pager& pager) {
  static Mutex mutex;
  const MutexLock lock(mutex);
  std::size_t at = 0;
  while (at < pagers.size() && pagers[at].load() != nullptr && pagers[at].load() != &pager) ++at;
  if (at == pagers.size())
    throw MemoryError("DDL-5-73", "More than 64 pagers serve faults. Use one pager per process.");
  pagers[at].store(&pager, std::memory_order_release);
  struct sigaction current = {};
  if (::sigaction(SIGSEGV, nullptr, &current) == 0 && current.sa_sigaction == &on_fault) return;
  struct sigaction action = {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGSEGV, &action, &previous_action);
}

}  // namespace tutti::lms
