// Memory for arrays that are as long as the data.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace tutti::learn::tree {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using LargeMemory = std::unique_ptr<std::byte, FreeMemory>;

// Not cleared. In large pages where there is enough of it: rows of one leaf are scattered over all
// of it, and large pages spare most look-ups of addresses. Throws MemoryError (DDL-9-22).
LargeMemory allocate_large(std::size_t bytes);

}  // namespace tutti::learn::tree
