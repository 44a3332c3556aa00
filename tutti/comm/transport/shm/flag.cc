#include "tutti/comm/transport/shm/flag.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "tutti/core/clock.h"

namespace tutti::comm {

void wake_sleepers(Flag& flag) {
  ::syscall(SYS_futex, &flag.value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool allow_remote_fences() {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

WaitPolicy WaitPolicy::for_ranks(int local_ranks, int cores) {
  if (local_ranks > cores) return {.spins = 0, .yields = 200};
  return {};
}

bool Wakefulness::yield(std::int64_t waited_ns) {
  const std::int64_t before = now_ns();
  if (waited_ns > kLongest || before < sleepy_until_ns_) return false;
  ::sched_yield();
  const std::int64_t after = now_ns();
  if (after - before > kLongYield) sleepy_until_ns_ = after + kSleepyTime;
  return true;
}

bool wait_awake(const Flag& flag, std::uint32_t wanted, const WaitPolicy& policy) {
  if (has_reached(flag, wanted)) return true;
  for (int i = 0; i < policy.spins; ++i) {
    relax();
    if (has_reached(flag, wanted)) return true;
  }
  for (int i = 0; i < policy.yields; ++i) {
    ::sched_yield();
    if (has_reached(flag, wanted)) return true;
  }
  return false;
}

bool wait_asleep(Flag& flag, std::uint32_t wanted, std::int64_t nanoseconds) {
  flag.sleepers.fetch_add(1, std::memory_order_seq_cst);
  // From here on, whoever raises the flag sees the sleeper, or has shown its value.
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
  const std::uint32_t now = flag.value.load(std::memory_order_seq_cst);
  if (!has_reached(now, wanted)) {
    const timespec limit{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    ::syscall(SYS_futex, &flag.value, FUTEX_WAIT, now, &limit, nullptr, 0);
  }
  flag.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  return has_reached(flag, wanted);
}

}  // namespace tutti::comm
