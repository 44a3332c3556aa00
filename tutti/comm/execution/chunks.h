// Division of large operations into chunks, which bounds the memory they are staged in.
#pragma once

#include <cstdint>
#include <functional>

#include "tutti/comm/base/operation.h"
#include "tutti/core/result.h"

namespace tutti::comm {

inline constexpr std::int64_t kMostStagedBytes = 32 << 20;  // of each buffer

// True for reduce_scatter, all_gather, gather, scatter and the all_to_all of equal amounts, whose
// input or output is made of one piece per rank.
bool has_pieces(const Operation& operation);

// Bytes of the vector, or of the pieces of all `ranks`: equal on all ranks of the operation.
std::int64_t total_bytes(const Operation& operation, int ranks);

// Passes the chunks of an operation of `ranks` to `run`, in order, until one fails. Each chunk has
// at most kMostStagedBytes. Those of a vector are contiguous; those of pieces have the same part of
// every piece, and `Operation::offsets` has its place. Depends on counts and types only, so all
// ranks cut alike.
Result for_each_chunk(const Operation& operation, int rank, int ranks,
                      const std::function<Result(const Operation&)>& run);

}  // namespace tutti::comm
