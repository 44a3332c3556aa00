#include "tutti/comm/transport/shm/flag.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

#include "tutti/core/clock.h"

namespace tutti::comm {
namespace {

// Polls of the flag between two reads of the clock, which take as long as one poll.
constexpr int kLooks = 16;
// Long enough for a peer that runs on another core; this core may be shared with an unrelated process.
constexpr std::int64_t kShortSpin = 5'000;

}  // namespace

void wake_sleepers(Flag& flag) {
  ::syscall(SYS_futex, &flag.value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool allow_remote_fences() {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

WaitPolicy WaitPolicy::for_ranks(int local_ranks, int cores) {
  if (local_ranks > cores) {
    return {.spin_ns = 0, .long_yield_ns = 2'000'000, .is_crowded = true};
  }
  return {};
}

bool SpinBackoff::yield(std::int64_t waited_ns) {
  const std::int64_t before = now_ns();
  if (waited_ns > kLongest || prefers_sleep(before)) return false;
  ::sched_yield();
  const std::int64_t after = now_ns();
  const bool was_long = after - before > long_yield_ns_;
  if (was_long && !(is_explained_ && is_explained_(before, after))) note_interference(after);
  return true;
}

void SpinBackoff::note_interference(std::int64_t now) {
  const bool comes_again = now - prefers_sleep_until_ns_ < sleep_preference_ns_;
  sleep_preference_ns_ =
      comes_again ? std::min(2 * sleep_preference_ns_, kMaxSleepPreference) : kFirstSleepPreference;
  prefers_sleep_until_ns_ = now + sleep_preference_ns_;
}

bool wait_awake(const Flag& flag, std::uint32_t wanted, const WaitPolicy& policy,
                SpinBackoff& backoff) {
  if (has_reached(flag, wanted)) return true;
  const auto look = [&] {
    for (int i = 0; i < kLooks; ++i) {
      relax();
      if (has_reached(flag, wanted)) return true;
    }
    return false;
  };
  if (policy.spin_ns > 0 && look()) return true;
  const std::int64_t start = now_ns();
  const std::int64_t longest_spin =
      backoff.prefers_sleep(start) ? std::min(policy.spin_ns, kShortSpin) : policy.spin_ns;
  while (now_ns() - start < longest_spin) {
    if (look()) return true;
  }
  while (backoff.yield(now_ns() - start)) {
    if (has_reached(flag, wanted)) return true;
  }
  return false;
}

bool wait_asleep(Flag& flag, std::uint32_t wanted, std::int64_t nanoseconds) {
  flag.sleepers.fetch_add(1, std::memory_order_seq_cst);
  // From here on, a rank that raises the flag sees the sleeper, or this rank sees the new value.
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
