// The last operations of one rank, kept always, so that a failure can be read afterwards.
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

// Safe from every thread, and cheap: a few words written per operation. A reader may see the newest
// entries half written, never an older one.
class FlightRecord {
 public:
  static constexpr std::size_t kEntries = 512;
  static constexpr std::size_t kWords = sizeof(FlightEntry) / sizeof(std::uint64_t);
  using Slot = std::array<std::atomic<std::uint64_t>, kWords>;

  // The operation has begun, and ended.
  Slot& begin(const FlightEntry& entry);
  // `algorithm` must live as long as the record: a literal, or what `keep` gave.
  static void end(Slot& slot, std::int64_t end_ticks, const char* algorithm);
  const char* keep(const std::string& name);
  // Oldest first.
  std::vector<FlightEntry> entries() const;

 private:
  std::array<Slot, kEntries> ring_{};
  std::atomic<std::uint64_t> written_ = 0;
  Mutex names_mutex_;
  std::set<std::string> names_ TUTTI_GUARDED_BY(names_mutex_);
};

// A clock that is cheap enough for every operation: processor ticks, turned into nanoseconds of the
// monotonic clock when they are read by people.
std::int64_t ticks();
std::int64_t monotonic_ns(std::int64_t ticks);

}  // namespace tutti::comm
