// Division of large operations into chunks, which bounds the memory they are staged in.
#pragma once

#include <cstdint>
#include <functional>

#include "tutti/comm/base/operation.h"
#include "tutti/core/result.h"

namespace tutti::comm {

inline constexpr std::int64_t kMostStagedBytes = 32 << 20;  // per buffer

// True for reduce_scatter, all_gather, gather, scatter and all_to_all with equal counts: their input or output consists
// of one piece per rank.
bool has_pieces(const Operation& operation);

// Bytes of the vector, or of the pieces of all `ranks`. Equal on all ranks of the operation.
std::int64_t total_bytes(const Operation& operation, int ranks);

// Passes the chunks of an operation over `ranks` ranks to `run`, in order, until one fails. A chunk has at most
// kMostStagedBytes. Chunks of a vector are contiguous; a chunk of pieces contains the same part of every piece, at the
// offsets in `Operation::offsets`. The split depends only on counts and types, so it is the same on all ranks.
Result for_each_chunk(const Operation& operation, int rank, int ranks,
                      const std::function<Result(const Operation&)>& run);

}  // namespace tutti::comm
