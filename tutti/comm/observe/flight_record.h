// Flight recorder: ring buffer of the last operations of one rank, for post-mortem analysis.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tutti/comm/base/operation.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

struct FlightEntry {
  OpRecord record;
  std::int64_t communicator = 0;
  std::int64_t start_ticks = 0;
  std::int64_t end_ticks = 0;  // 0: not finished
  const char* algorithm = nullptr;

  std::int64_t nanoseconds() const;  // from start to end
};

// Always on: recording costs a few stores per operation. Thread-safe. A reader may see the newest entries partially
// written, but never an older one.
class FlightRecord {
 public:
  static constexpr std::size_t kEntries = 512;
  static constexpr std::size_t kWords = sizeof(FlightEntry) / sizeof(std::uint64_t);
  using Slot = std::array<std::atomic<std::uint64_t>, kWords>;

  // Records the start of an operation; `end` completes its entry.
  Slot& begin(const FlightEntry& entry);
  // `algorithm` must outlive the record: pass a string literal or the result of `keep`.
  static void end(Slot& slot, std::int64_t end_ticks, const char* algorithm);
  const char* keep(const std::string& name);
  // Returns the entries, oldest first.
  std::vector<FlightEntry> entries() const;

 private:
  std::array<Slot, kEntries> ring_{};
  std::atomic<std::uint64_t> written_ = 0;
  Mutex names_mutex_;
  std::set<std::string> names_ TUTTI_GUARDED_BY(names_mutex_);
};

// CPU timestamp counter, cheap enough to read for every operation, and its conversion to nanoseconds of the monotonic
// clock.
std::int64_t ticks();
std::int64_t monotonic_ns(std::int64_t ticks);

}  // namespace tutti::comm
