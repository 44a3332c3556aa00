// Construction of operations from the arguments of a call. Invalid arguments throw ConfigError (DDL-4-01).
#pragma once

#include <cstdint>
#include <span>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/base/require.h"
#include "tutti/comm/call_options.h"
#include "tutti/core/buffer.h"

namespace tutti::comm {

using Counts = std::span<const std::int64_t>;

// The caller's rank and the size of its communicator.
struct Caller {
  int rank;
  int size;
};

Operation all_reduce_of(ConstBuffer input, Buffer output, ReduceOp op, const CallOptions& call);
Operation reduce_scatter_of(Caller caller, ConstBuffer input, Buffer output, ReduceOp op,
                            Counts counts, const CallOptions& call);
Operation all_gather_of(Caller caller, ConstBuffer input, Buffer output, Counts counts,
                        const CallOptions& call);
Operation broadcast_of(Caller caller, Buffer buffer, int root, const CallOptions& call);
Operation reduce_of(Caller caller, ConstBuffer input, Buffer output, ReduceOp op, int root,
                    const CallOptions& call);
Operation gather_of(Caller caller, ConstBuffer input, Buffer output, int root, Counts counts,
                    const CallOptions& call);
Operation scatter_of(Caller caller, ConstBuffer input, Buffer output, int root, Counts counts,
                     const CallOptions& call);
Operation all_to_all_of(Caller caller, ConstBuffer input, Buffer output, Counts send_counts,
                        Counts receive_counts, const CallOptions& call);
Operation barrier_of(const CallOptions& call);

}  // namespace tutti::comm
