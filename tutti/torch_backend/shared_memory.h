// Tensors in library memory, which all ranks of the host can map: collectives work on them in
// place, at the speed of memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>

#include "tutti/comm/communicator.h"

namespace tutti::torch_backend {

// Tensors below this are not worth moving.
inline constexpr std::size_t kLeastSharedBytes = std::size_t{64} << 10;

// An uninitialised tensor in library memory. It keeps the memory, also when the communicator is
// gone. Throws MemoryError when there is not enough.
at::Tensor empty_shared(comm::Communicator& communicator, at::IntArrayRef sizes,
                        at::ScalarType type);

// Moves the tensor's whole storage, with everything that is a view of it, into library memory; true
// when it lies there afterwards. Nothing else may hold the address of the old memory (a NumPy array
// of the tensor does). Not possible for storages that torch does not own: false; nor when memory is
// short: false.
bool share(comm::Communicator& communicator, const at::Tensor& tensor);

// Whether the tensor lies in library memory of this process.
bool is_shared(comm::Communicator& communicator, const at::Tensor& tensor);

// As share, for a tensor that nobody but torch can know: large, all of its storage, and never seen
// by Python. Such are the buckets of DistributedDataParallel.
void share_if_private(comm::Communicator* communicator, const at::Tensor& tensor);

// From now on all tensors of at least `least_bytes` come from library memory as long as there is
// some, else from where they came from before; 0: none any more. For the whole process. Forked
// children see each other's writes to such tensors.
void allocate_shared(comm::Communicator& communicator, std::size_t least_bytes);

}  // namespace tutti::torch_backend
