// Records: the rows of one tree with their gradients and hessians.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "tutti/learn/base/large_memory.h"
#include "tutti/learn/base/threads.h"

namespace tutti::learn::tree {

// Array whose memory is reused for all trees.
template <class Record>
class Records {
 public:
  std::int64_t size = 0;

  // Growing beyond the capacity discards the content.
  void resize(std::int64_t new_size) {
    if (new_size > room_) {
      memory_.reset();
      memory_ = allocate_large(static_cast<std::size_t>(new_size) * sizeof(Record));
      room_ = new_size;
    }
    size = new_size;
  }
  Record* data() { return reinterpret_cast<Record*>(memory_.get()); }

 private:
  LargeMemory memory_;
  std::int64_t room_ = 0;
};

// Writes the records of the rows [begin, end) in order, without rows that do not take part, and returns their number.
// `target` has room for all. Thread-safe.
template <class Record>
using RecordSource =
    std::function<std::int64_t(std::int64_t begin, std::int64_t end, Record* target)>;

// Computes the records of all rows.
template <class Record>
void fill(const RecordSource<Record>& source, std::int64_t rows, Threads& threads,
          Records<Record>& records) {
  constexpr std::int64_t kGrain = 16384;
  records.resize(rows);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>((rows + kGrain - 1) / kGrain));
  threads.for_range(rows, kGrain, [&](std::int64_t begin, std::int64_t end) {
    sizes[begin / kGrain] = source(begin, end, records.data() + begin);
  });
  std::int64_t size = 0;
  for (std::size_t part = 0; part < sizes.size(); ++part) {
    const std::int64_t from = static_cast<std::int64_t>(part) * kGrain;
    if (from != size)
      std::copy(records.data() + from, records.data() + from + sizes[part], records.data() + size);
    size += sizes[part];
  }
  records.resize(size);
}

}  // namespace tutti::learn::tree
