// A counter in shared memory that one rank raises and others wait for. A wait spins, then yields, then sleeps in the
// kernel (futex), so a host with more ranks than cores still makes progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace tutti::comm {

struct Flag {
  std::atomic<std::uint32_t> value;
  std::atomic<std::uint32_t> sleepers;
};
static_assert(sizeof(Flag) == 8 && std::atomic<std::uint32_t>::is_always_lock_free);

// Counters wrap around; the distance between any two compared ones is far below 2^31.
inline bool has_reached(std::uint32_t value, std::uint32_t wanted) {
  return static_cast<std::int32_t>(value - wanted) >= 0;
}
inline bool has_reached(const Flag& flag, std::uint32_t wanted) {
  return has_reached(flag.value.load(std::memory_order_acquire), wanted);
}

void wake_sleepers(Flag& flag);

// The rank that raises a flag must look for sleepers only after the new value is visible to all cores. A fence for this
// would cost a quarter of a small operation. Instead, a rank that is about to sleep, which is rare, runs the fence on
// all cores (membarrier). Returns true if the kernel allows this; registered once, before the first flag of the
// process.
bool allow_remote_fences();
inline const bool kHasRemoteFences = allow_remote_fences();

// Raises the flag. Only its owner may call it. All writes before it are visible to a rank that sees the new value.
inline void raise_flag(Flag& flag, std::uint32_t value) {
  if (kHasRemoteFences) {
    flag.value.store(value, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // keeps the compiler from reordering
  } else {
    flag.value.exchange(value, std::memory_order_seq_cst);
  }
  if (flag.sleepers.load(std::memory_order_seq_cst) != 0) wake_sleepers(flag);
}

// Parameters of a wait for a flag.
struct WaitPolicy {
  // Time of pure spinning.
  std::int64_t spin_ns = 100'000;
  // A yield that takes longer indicates that another process computes on this core.
  std::int64_t long_yield_ns = 300'000;
  // More ranks than cores: a spinning rank takes the core of the rank it waits for, and a yield may take as long as
  // that rank computes.
  bool is_crowded = false;

  static WaitPolicy for_ranks(int local_ranks, int cores);
};

// Decides between yielding and sleeping. A sleeping core takes long to wake up, so a rank only yields while no other
// process wants its core. If another process computes there, each yield gives it a full time slice of the scheduler
// (milliseconds). Sleeping is then better for both, because a woken thread is scheduled first.
class SpinBackoff {
 public:
  // Returns true if a rank of this job computed between the two times (now_ns) and may have used the core.
  using IsExplained = std::function<bool(std::int64_t begin, std::int64_t end)>;

  explicit SpinBackoff(std::int64_t long_yield_ns = WaitPolicy().long_yield_ns,
                       IsExplained excuse = {})
      : long_yield_ns_(long_yield_ns), is_explained_(std::move(excuse)) {}
  // Yields and returns true, or returns false if the caller should sleep.
  bool yield(std::int64_t waited_ns);
  // True for some time after a long yield that no rank of this job explains.
  bool prefers_sleep(std::int64_t now) const { return now < prefers_sleep_until_ns_; }
  // Called after such a yield. A single one may be due to a short-lived process or the hypervisor, and sleeping costs
  // as much as the yield did, so the first period is short; each further yield soon after doubles it.
  void note_interference(std::int64_t now);

 private:
  static constexpr std::int64_t kLongest = 1'000'000;  // longest time that a wait stays awake
  static constexpr std::int64_t kFirstSleepPreference = 5'000'000,
                                kMaxSleepPreference = 100'000'000;
  std::int64_t long_yield_ns_;
  IsExplained is_explained_;
  std::int64_t sleep_preference_ns_ = 0, prefers_sleep_until_ns_ = 0;
};

// Spins and yields. Returns true if the flag has reached `wanted`, false if the caller should sleep.
bool wait_awake(const Flag& flag, std::uint32_t wanted, const WaitPolicy& policy,
                SpinBackoff& backoff);
// Sleeps until the flag may have changed, at most `nanoseconds`. Returns true if it has reached `wanted`.
bool wait_asleep(Flag& flag, std::uint32_t wanted, std::int64_t nanoseconds);

// Hint to the CPU that this is a spin loop.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace tutti::comm
