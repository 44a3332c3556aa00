// Counters of a fusion engine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::fusion {

struct EngineStatistics {
  std::int64_t tensors = 0;        // tensors completed on this rank
  std::int64_t buckets = 0;        // operations that carried them
  std::int64_t copied_bytes = 0;   // bytes copied into and out of fusion buffers
  std::int64_t messages = 0;       // negotiation messages received by this rank
  std::int64_t full_reports = 0;   // reports sent with name and signature
  std::int64_t known_reports = 0;  // reports sent as one bit (cache hits)
  std::size_t bucket_bytes = 0;    // current setting; rank 0 only
  double cycle_ms = 0;
  bool is_tuned = false;
};

}  // namespace tutti::fusion
