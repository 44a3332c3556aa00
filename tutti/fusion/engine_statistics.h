// Counters of a fusion engine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::fusion {

struct EngineStatistics {
  std::int64_t tensors = 0;        // reduced, gathered, ... here
  std::int64_t buckets = 0;        // in so many operations
  std::int64_t copied_bytes = 0;   // into buckets and out of them
  std::int64_t messages = 0;       // received by this rank to find out what is ready
  std::int64_t full_reports = 0;   // that this rank sent in the long form
  std::int64_t known_reports = 0;  // as a bit
  std::size_t bucket_bytes = 0;    // in use now, on rank 0
  double cycle_ms = 0;
  bool is_tuned = false;
};

}  // namespace tutti::fusion
