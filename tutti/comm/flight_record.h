// The last operations of one rank, kept always, so that a failure can be read afterwards.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "tutti/comm/operation.h"

namespace tutti::comm {

struct FlightEntry {
  OpRecord record;
  std::int64_t communicator = 0;
  std::int64_t start_ticks = 0;
  std::int64_t end_ticks = 0;  // 0: not finished
};

// Written by the thread that runs operations, read by any; a reader may see the newest entry half
// written, never an older one.
class FlightRecord {
 public:
  static constexpr std::size_t kEntries = 512;

  FlightEntry& begin(const OpRecord& record, std::int64_t communicator);
  static void end(FlightEntry& entry);
  // Oldest first.
  std::vector<FlightEntry> entries() const;

 private:
  std::array<FlightEntry, kEntries> ring_{};
  std::atomic<std::uint64_t> written_ = 0;
};

// A clock that is cheap enough for every operation: processor ticks, turned into nanoseconds of the
// monotonic clock when they are read by people.
std::int64_t ticks();
std::int64_t monotonic_ns(std::int64_t ticks);

}  // namespace tutti::comm
