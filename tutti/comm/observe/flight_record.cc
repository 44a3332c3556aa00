#include "tutti/comm/observe/flight_record.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "tutti/core/clock.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {
namespace {

struct Calibration {
  std::int64_t ticks = comm::ticks();
  std::int64_t nanoseconds = now_ns();
};
// Taken at program start: the rate between two points becomes more precise the longer the program runs.
const Calibration kStart;

}  // namespace

std::int64_t ticks() {
#if defined(__x86_64__)
  return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#else
  return now_ns();
#endif
}

std::int64_t monotonic_ns(std::int64_t at) {
  const Calibration now;
  const double elapsed_ticks =
      static_cast<double>(std::max<std::int64_t>(1, now.ticks - kStart.ticks));
  const double rate = static_cast<double>(now.nanoseconds - kStart.nanoseconds) / elapsed_ticks;
  return now.nanoseconds - static_cast<std::int64_t>(static_cast<double>(now.ticks - at) * rate);
}

std::int64_t FlightEntry::nanoseconds() const {
  return std::max<std::int64_t>(0, monotonic_ns(end_ticks) - monotonic_ns(start_ticks));
}

FlightRecord::Slot& FlightRecord::begin(const FlightEntry& entry) {
  Slot& slot = ring_[written_.fetch_add(1, std::memory_order_relaxed) % kEntries];
  const auto words = std::bit_cast<std::array<std::uint64_t, kWords>>(entry);
  for (std::size_t i = 0; i < kWords; ++i) slot[i].store(words[i], std::memory_order_relaxed);
  return slot;
}

void FlightRecord::end(Slot& slot, std::int64_t end_ticks, const char* algorithm) {
  constexpr std::size_t kEnd = offsetof(FlightEntry, end_ticks) / sizeof(std::uint64_t);
  constexpr std::size_t kAlgorithm = offsetof(FlightEntry, algorithm) / sizeof(std::uint64_t);
  slot[kAlgorithm].store(std::bit_cast<std::uint64_t>(algorithm), std::memory_order_relaxed);
  slot[kEnd].store(static_cast<std::uint64_t>(end_ticks), std::memory_order_relaxed);
}

const char* FlightRecord::keep(const std::string& name) {
  const MutexLock lock(names_mutex_);
  return names_.insert(name).first->c_str();
}

std::vector<FlightEntry> FlightRecord::entries() const {
  const std::uint64_t written = written_.load(std::memory_order_acquire);
  std::vector<FlightEntry> out;
  for (std::uint64_t i = written > kEntries ? written - kEntries : 0; i < written; ++i) {
    std::array<std::uint64_t, kWords> words{};
    for (std::size_t w = 0; w < kWords; ++w) {
      words[w] = ring_[i % kEntries][w].load(std::memory_order_relaxed);
    }
    out.push_back(std::bit_cast<FlightEntry>(words));
  }
  return out;
}

}  // namespace tutti::comm
