// One piece of an arena and its bookkeeping, which is private to the owner: peers see the memory
// only.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tutti/comm/transport/shm/shared_memory.h"

namespace tutti::comm::internal {

// Pages are taken by granules when an allocation first covers one, and given back when a large
// block is freed. One thread at a time, but for `contains` and `memory`.
class Segment {
 public:
  static constexpr std::size_t kGranule = std::size_t{2} << 20;

  // `bytes` is a multiple of the granule. Throws MemoryError.
  explicit Segment(std::size_t bytes);

  // Offset of a block cut from the first free one that is large enough. Its pages come with
  // `reserve`.
  std::optional<std::size_t> take(std::size_t bytes, std::size_t alignment);
  Result reserve(std::size_t offset, std::size_t bytes);
  // Size of the block that `take` gave at `offset`, after it is free again; nothing when there is
  // none.
  std::optional<std::size_t> give_back(std::size_t offset);

  bool contains(const void* address, std::size_t bytes) const;
  const SharedMemory& memory() const { return *memory_; }

 private:
  void release_pages(std::size_t begin, std::size_t end);

  std::shared_ptr<SharedMemory> memory_;
  std::vector<bool> has_pages_;              // by granule
  std::map<std::size_t, std::size_t> free_;  // offset -> bytes; neighbours are always joined
  std::map<std::size_t, std::size_t> used_;
};

}  // namespace tutti::comm::internal
