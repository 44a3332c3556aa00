// Uninitialised memory for arrays as long as the data.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace tutti::learn::tree {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using LargeMemory = std::unique_ptr<std::byte, FreeMemory>;

// Allocates uninitialised memory, in huge pages if it is large: rows of one leaf are scattered over the array, and huge
// pages avoid most TLB misses. Throws MemoryError (DDL-9-22).
LargeMemory allocate_large(std::size_t bytes);

}  // namespace tutti::learn::tree
