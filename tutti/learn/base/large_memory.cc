#include "tutti/learn/base/large_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include "tutti/core/error.h"

namespace tutti::learn::tree {

LargeMemory allocate_large(std::size_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20, kLine = 64;
  // For small arrays, rounding up to a huge page would waste too much of a memory limit.
  const std::size_t unit = bytes < 4 * kHugePage ? kLine : kHugePage;
  const std::size_t size = (bytes + unit) / unit * unit;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(unit, size));
  if (memory == nullptr)
    throw MemoryError("DDL-9-22", fmt::format("Cannot allocate {} bytes for the data. Use fewer "
                                              "rows or columns, or set memory_limit.",
                                              size));
  if (unit == kHugePage) madvise(memory, size, MADV_HUGEPAGE);
  return LargeMemory(memory);
}

}  // namespace tutti::learn::tree
