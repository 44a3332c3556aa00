// State shared by the steps of node expansion.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

#include "tutti/learn/base/threads.h"
#include "tutti/learn/tree/grow/growth.h"

namespace tutti::learn::tree {

// Below this number of rows most of the 256 bins are empty, and reading the rows directly is faster.
inline constexpr std::int64_t kRowsWithoutHistogram = 128;

inline std::int64_t parts_of(std::int64_t size, std::int64_t chunk) {
  return (size + chunk - 1) / chunk;
}

template <class Record>
struct NodeContext {
  // With `threads_` all threads work on each step. Without, steps are serial and may run in parallel with those of
  // other contexts.
  NodeContext(const Growth<Record>& growth_, Threads* threads_)
      : growth(growth_),
        data(growth_.data),
        threads(threads_),
        slots(threads_ == nullptr ? 1 : static_cast<std::size_t>(threads_->count())) {}

  const Growth<Record>& growth;
  const BinnedData& data;
  Threads* threads;
  std::size_t slots;                   // number of participating threads
  bool records_are_contiguous = true;  // records of each node; false during level-wise growth
  // Visits the records of nodes[index] while they are not contiguous.
  std::function<void(std::int32_t index, const std::function<void(const Record&)>& visit)>
      visit_records = {};

  bool samples_columns() const { return growth.options.columns_per_node > 0; }
  // Whether the split of the node is searched in its records instead of a histogram.
  bool uses_records(const GrownNode& node) const {
    return growth.communicator == nullptr && records_are_contiguous &&
           node.size() <= kRowsWithoutHistogram;
  }
  // Rows per task: after partitioning they are still in the cache for the histogram. With many tiles longer ranges are
  // faster.
  std::int64_t chunk_rows() const { return growth.data.tiles() > 1 ? 16384 : 2048; }

  // Calls body(slot, part) for every part in [0, parts); calls of one slot do not overlap.
  template <class Body>
  void run(std::int64_t parts, const Body& body) const {
    if (threads == nullptr || parts <= 1) {
      for (std::int64_t part = 0; part < parts; ++part) body(std::size_t{0}, part);
      return;
    }
    std::atomic<std::int64_t> next = 0;
    threads->run(std::min(static_cast<std::int64_t>(slots), parts), [&](std::int64_t slot) {
      for (std::int64_t part; (part = next++) < parts;) body(static_cast<std::size_t>(slot), part);
    });
  }
};

}  // namespace tutti::learn::tree
