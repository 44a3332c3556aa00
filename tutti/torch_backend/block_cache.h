// Caching allocator for tensors in library-allocated memory. Freed blocks are kept for allocations of a similar size,
// because faulting in new pages costs more than most operations on them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tutti/comm/transport/shm/arena.h"

namespace tutti::torch_backend {

// Thread-safe. In a forked child the memory still belongs to the parent: `take` returns nullptr and `give_back` frees
// nothing.
class BlockCache {
 public:
  // `before`: the cache that this one replaces, so its blocks can still be found.
  explicit BlockCache(std::shared_ptr<comm::Arena> arena, BlockCache* before = nullptr,
                      std::size_t most_kept = std::size_t{1} << 30);
  ~BlockCache();

  // Returns nullptr if there is not enough memory, even after freeing all cached blocks.
  void* take(std::size_t bytes);
  // Returns false if `take` did not allocate the block; in a child, if it cannot have.
  bool give_back(void* address);

  const std::shared_ptr<comm::Arena>& arena() const { return arena_; }
  BlockCache* before() const { return before_; }
  // Size of the blocks that serve a request of `bytes`: at most one eighth more.
  static std::size_t block_bytes(std::size_t bytes);

 private:
  void* allocate(std::size_t bytes);
  void drop_kept();
  bool is_forked() const;

  const std::shared_ptr<comm::Arena> arena_;
  BlockCache* const before_;
  const std::size_t most_kept_;
  const int process_;
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> taken_;
  std::map<std::size_t, std::vector<void*>> kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace tutti::torch_backend
