// Tensors in library-allocated shared memory. All ranks of the host map it, so collectives work in place at memory
// bandwidth.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>

#include "tutti/comm/communicator.h"

namespace tutti::torch_backend {

// Smaller tensors are not worth moving.
inline constexpr std::size_t kLeastSharedBytes = std::size_t{64} << 10;

// Returns an uninitialised tensor in library-allocated memory. The tensor owns the memory, even after the communicator
// is destroyed. Throws MemoryError if there is not enough memory.
at::Tensor empty_shared(comm::Communicator& communicator, at::IntArrayRef sizes,
                        at::ScalarType type);

// Moves the storage of the tensor, including all views of it, into library-allocated memory. No other object may hold
// the address of the old memory (a NumPy array that shares it does). Returns true if the tensor is in library-allocated
// memory afterwards; false if torch does not own the storage or memory is short.
bool share(comm::Communicator& communicator, const at::Tensor& tensor);

// Returns true if the tensor is in library-allocated memory of this process.
bool is_shared(comm::Communicator& communicator, const at::Tensor& tensor);

// Like `share`, but only for tensors that no other code can reference: large, covering their whole storage, and never
// exposed to Python. The buckets of DistributedDataParallel are such tensors.
void share_if_private(comm::Communicator* communicator, const at::Tensor& tensor);

// From now on, allocates all tensors of at least `least_bytes` bytes in library-allocated memory, for the whole
// process; 0 disables this. If that memory is exhausted, the previous allocator is used. Forked children see each
// other's writes to such tensors.
void allocate_shared(comm::Communicator& communicator, std::size_t least_bytes);

}  // namespace tutti::torch_backend
