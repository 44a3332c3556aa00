// Position of the rows of this rank among the rows of all ranks.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "tutti/comm/communicator.h"

namespace tutti::learn::tree {

struct RankRows {
  std::int64_t first = 0, total = 0;
};

// Collective if there is a communicator.
inline RankRows find_rank_rows(std::int64_t rows, comm::Communicator* communicator) {
  if (communicator == nullptr) return {0, rows};
  std::vector<std::int64_t> all(static_cast<std::size_t>(communicator->size()));
  communicator->all_gather(ConstBuffer::of<std::int64_t>({&rows, 1}),
                           Buffer::of<std::int64_t>(all));
  const auto mine = all.begin() + communicator->rank();
  return {std::accumulate(all.begin(), mine, std::int64_t{0}),
          std::accumulate(all.begin(), all.end(), std::int64_t{0})};
}

}  // namespace tutti::learn::tree
