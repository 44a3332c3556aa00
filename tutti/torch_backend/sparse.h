// All-reduce of sparse tensors, with the semantics of torch's Gloo backend.
#pragma once

#include <ATen/core/Tensor.h>

#include "tutti/comm/communicator.h"

namespace tutti::torch_backend {

// Each rank gathers the indices and values of all ranks and adds them in rank order. The coalesced result replaces
// `tensor`. The number of entries may differ between ranks; sizes and types must match, otherwise c10::Error describes
// the difference.
void all_reduce_sparse(comm::Communicator& communicator, at::Tensor tensor,
                       const comm::CallOptions& call);

}  // namespace tutti::torch_backend
