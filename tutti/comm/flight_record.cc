#include "tutti/comm/flight_record.h"

#include <algorithm>

#include "tutti/core/clock.h"

namespace tutti::comm {
namespace {

struct Calibration {
  std::int64_t ticks = comm::ticks();
  std::int64_t nanoseconds = now_ns();
};
// Taken when the program starts; the longer it runs, the better the two-point rate.
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

FlightEntry& FlightRecord::begin(const OpRecord& record, std::int64_t communicator) {
  FlightEntry& entry = ring_[written_.load(std::memory_order_relaxed) % kEntries];
  entry.record = record;
  entry.communicator = communicator;
  entry.start_ticks = ticks();
  entry.end_ticks = 0;
  written_.fetch_add(1, std::memory_order_release);
  return entry;
}

void FlightRecord::end(FlightEntry& entry) {
  entry.end_ticks = ticks();
}

std::vector<FlightEntry> FlightRecord::entries() const {
  const std::uint64_t written = written_.load(std::memory_order_acquire);
  std::vector<FlightEntry> out;
  for (std::uint64_t i = written > kEntries ? written - kEntries : 0; i < written; ++i) {
    out.push_back(ring_[i % kEntries]);
  }
  return out;
}

}  // namespace tutti::comm
