// A segment of an arena and its free list. The free list is private to the owner; peers see only the memory.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tutti/comm/transport/shm/shared_memory.h"

namespace tutti::comm::internal {

// Pages are allocated by granules when an allocation first covers one, and released when a large block is freed. Not
// thread-safe, except `contains` and `memory`.
class Segment {
 public:
  static constexpr std::size_t kGranule = std::size_t{2} << 20;

  // `bytes` must be a multiple of the granule. Throws MemoryError.
  explicit Segment(std::size_t bytes);

  // Returns the offset of a block in the first free range that is large enough. `reserve` allocates its pages.
  std::optional<std::size_t> take(std::size_t bytes, std::size_t alignment);
  Result reserve(std::size_t offset, std::size_t bytes);
  // Frees the block at `offset` and returns its size; nullopt if there is none.
  std::optional<std::size_t> give_back(std::size_t offset);

  bool contains(const void* address, std::size_t bytes) const;
  const SharedMemory& memory() const { return *memory_; }

 private:
  void release_pages(std::size_t begin, std::size_t end);

  std::shared_ptr<SharedMemory> memory_;
  std::vector<bool> has_pages_;              // per granule
  std::map<std::size_t, std::size_t> free_;  // offset -> bytes; adjacent ranges are always merged
  std::map<std::size_t, std::size_t> used_;
};

}  // namespace tutti::comm::internal
