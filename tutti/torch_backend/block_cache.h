// Library memory for tensors that come and go: what is given back is kept for the next of about
// that size, because new pages cost more than most operations on them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tutti/comm/transport/shm/arena.h"

namespace tutti::torch_backend {

// Safe from every thread. In a forked child, whose memory all of this stays its parent's, `take`
// gives nothing and `give_back` does nothing.
class BlockCache {
 public:
  // `before`: a cache that this one takes the place of, for whoever looks for its blocks.
  explicit BlockCache(std::shared_ptr<comm::Arena> arena, BlockCache* before = nullptr,
                      std::size_t most_kept = std::size_t{1} << 30);
  ~BlockCache();

  // nullptr when there is not enough memory, even if nothing were kept.
  void* take(std::size_t bytes);
  // False when `take` did not give it; in a child when it cannot have.
  bool give_back(void* address);

  const std::shared_ptr<comm::Arena>& arena() const { return arena_; }
  BlockCache* before() const { return before_; }
  // Size of the blocks that serve `bytes`: at most an eighth more.
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
