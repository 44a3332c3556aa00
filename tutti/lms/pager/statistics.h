// Counters of a pager.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::lms {

// Since the creation of the pager, unless noted. Bytes and counts; times in seconds.
struct PagerStatistics {
  std::int64_t resident = 0;  // now: memory held, counted against the budget
  std::int64_t peak_resident = 0;
  std::int64_t cached = 0;  // now: part of `resident` that freed blocks hold
  std::int64_t out = 0;     // now: bytes of blocks that are out
  std::int64_t pinned = 0;  // now: bytes of pinned blocks
  std::int64_t blocks = 0;  // now: blocks in use
  std::int64_t page_outs = 0, page_ins = 0;
  std::int64_t drops = 0;    // of blocks that are recomputed
  std::int64_t encoded = 0;  // page-outs in a lossless encoding
  std::int64_t bytes_written = 0, bytes_read = 0;
  std::int64_t evictions = 0;        // page-outs that an allocation or pin needed
  std::int64_t cancelled = 0;        // page-outs of blocks that were used before they were written
  std::int64_t unplanned_reads = 0;  // reads that started at the pin or fault, not by prefetch
  std::int64_t late_reads = 0;       // prefetched blocks that had not arrived at the pin
  std::int64_t faults = 0;           // blocks made accessible by the fault handler
  double write_wait = 0, read_wait = 0;  // seconds that threads were blocked

  void add_resident(std::int64_t bytes) {
    resident += bytes;
    peak_resident = std::max(peak_resident, resident);
  }
};

}  // namespace tutti::lms
