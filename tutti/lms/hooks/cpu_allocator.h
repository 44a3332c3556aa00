// Chain of memory sources behind libtorch's CPU allocator.
//
// libtorch has one CPU allocator per process. Components that allocate tensors elsewhere (shared memory of the ranks of
// a host, the pager of large model support) register a source here, because only one of them could replace the
// allocator itself.
#pragma once

#include <cstddef>

namespace tutti::lms {

// Functions may be called from any thread, also in a forked child.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // Allocates memory aligned to at least 64 bytes; nullptr: the next source is tried. An exception reaches the caller
  // of the libtorch operator.
  virtual void* allocate(std::size_t bytes) = 0;
  // Returns false if the address is not from this source.
  virtual bool free(void* address) = 0;
};

// Sources are tried in this order.
enum class SourceOrder { kPager, kSharedMemory };

// Adds a source to the chain, in front of libtorch's allocator, and installs the chain if necessary. A source is never
// removed and must never be destroyed: tensors may outlive its user. At most one source per order; adding the same one
// again has no effect.
void add_source(MemorySource& source, SourceOrder order);

}  // namespace tutti::lms
