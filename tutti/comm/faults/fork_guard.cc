#include "tutti/comm/faults/fork_guard.h"

#include <pthread.h>

#include <atomic>

#include "tutti/core/error.h"

namespace tutti::comm {
namespace {

// Number of forks between the first process and this one.
std::atomic<std::uint64_t> generation = 0;

void count_forks() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++generation; });
  (void)registered;
}

}  // namespace

ForkGuard::ForkGuard() {
  count_forks();
  generation_ = generation.load(std::memory_order_relaxed);
}

bool ForkGuard::is_child() const {
  return generation.load(std::memory_order_relaxed) != generation_;
}

void ForkGuard::require_parent() const {
  if (is_child()) [[unlikely]]
    throw ConfigError(kCode, kMessage);
}

}  // namespace tutti::comm
