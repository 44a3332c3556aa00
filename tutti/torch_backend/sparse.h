// The sum of sparse tensors, as torch's Gloo backend has it.
#pragma once

#include <ATen/core/Tensor.h>

#include "tutti/comm/communicator.h"

namespace tutti::torch_backend {

// Every rank gathers everybody's indices and values and adds them in the order of ranks; the
// result, coalesced, takes the place of `tensor`. Ranks may have different numbers of entries;
// sizes and types must agree, or c10::Error says how they differ.
void all_reduce_sparse(comm::Communicator& communicator, at::Tensor tensor,
                       const comm::CallOptions& call);

}  // namespace tutti::torch_backend
