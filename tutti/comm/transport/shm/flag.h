// A counter in shared memory that one rank raises and others wait for. Waiting spins first, then
// gives the core away, then sleeps in the kernel, so that a machine with more ranks than cores does
// not collapse.
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

// Who raises must look for sleepers only after everybody can see the new value, and waiting for
// that costs a quarter of a small operation. So whoever wants to sleep, which is rare, makes the
// kernel do it on all cores (membarrier). Whether this process may be treated so: asked once,
// before its first flag.
bool allow_remote_fences();
inline const bool kHasRemoteFences = allow_remote_fences();

// Only the rank that owns the flag raises it. What it wrote before is seen by whoever sees the new
// value.
inline void raise_flag(Flag& flag, std::uint32_t value) {
  if (kHasRemoteFences) {
    flag.value.store(value, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler keeps the order
  } else {
    flag.value.exchange(value, std::memory_order_seq_cst);
  }
  if (flag.sleepers.load(std::memory_order_seq_cst) != 0) wake_sleepers(flag);
}

// How a rank waits for a flag.
struct WaitPolicy {
  // It only looks, for so long.
  std::int64_t spin_ns = 100'000;
  // A yield that takes longer tells that a stranger computes on this core.
  std::int64_t long_yield_ns = 300'000;
  // Fewer cores than ranks: whoever spins takes the core of the one it waits for, and a yield may
  // take as long as that one computes.
  bool is_crowded = false;

  static WaitPolicy for_ranks(int local_ranks, int cores);
};

// How long a rank that waits stays awake. A core that falls asleep takes long to wake, so while
// nothing else wants it the rank only yields. Where somebody computes there, each yield gives him a
// whole slice of the scheduler, milliseconds: then sleeping is better for both, because whoever is
// woken goes first.
class SpinBackoff {
 public:
  // Whether one of ours computed from one time (now_ns) to the other: it may have had the core.
  using Excuse = std::function<bool(std::int64_t begin, std::int64_t end)>;

  explicit SpinBackoff(std::int64_t long_yield_ns = WaitPolicy().long_yield_ns, Excuse excuse = {})
      : long_yield_ns_(long_yield_ns), excuse_(std::move(excuse)) {}
  // Gives the core away and returns true, or returns false: sleep.
  bool yield(std::int64_t waited_ns);
  // After a long yield without excuse, for a while.
  bool prefers_sleep(std::int64_t now) const { return now < sleepy_until_ns_; }
  // Such a yield ended now. One alone may have been a stranger that is gone again, or the
  // hypervisor, and sleeping costs as much as it did; each that follows soon doubles the while.
  void note_stranger(std::int64_t now);

 private:
  static constexpr std::int64_t kLongest = 1'000'000;  // of a wait that is spent awake
  static constexpr std::int64_t kFirstSleepyTime = 5'000'000, kSleepyTime = 100'000'000;
  std::int64_t long_yield_ns_;
  Excuse excuse_;
  std::int64_t sleepy_ns_ = 0, sleepy_until_ns_ = 0;
};

// Spins and yields; true when the flag has reached `wanted`, false when it is time to sleep.
bool wait_awake(const Flag& flag, std::uint32_t wanted, const WaitPolicy& policy,
                SpinBackoff& wakefulness);
// Sleeps until the flag may have changed, at most `nanoseconds`; true when it has reached `wanted`.
bool wait_asleep(Flag& flag, std::uint32_t wanted, std::int64_t nanoseconds);

// Tells the processor that this is a waiting loop.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace tutti::comm
