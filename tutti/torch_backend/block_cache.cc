#include "tutti/torch_backend/block_cache.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "tutti/core/error.h"

namespace tutti::torch_backend {

BlockCache::BlockCache(std::shared_ptr<comm::Arena> arena, BlockCache* before,
                       std::size_t most_kept)
    : arena_(std::move(arena)), before_(before), most_kept_(most_kept), process_(getpid()) {}

BlockCache::~BlockCache() {
  drop_kept();
}

bool BlockCache::is_forked() const {
  return getpid() != process_;
}

std::size_t BlockCache::block_bytes(std::size_t bytes) {
  const std::size_t unit = std::max<std::size_t>(4096, std::bit_floor(bytes) / 8);
  return (bytes + unit - 1) / unit * unit;
}

void* BlockCache::take(std::size_t bytes) {
  if (is_forked()) return nullptr;
  const std::size_t size = block_bytes(bytes);
  const std::lock_guard lock(mutex_);
  void* address = nullptr;
  if (const auto kept = kept_.find(size); kept != kept_.end()) {
    address = kept->second.back();
    kept->second.pop_back();
    if (kept->second.empty()) kept_.erase(kept);
    kept_bytes_ -= size;
  } else {
    address = allocate(size);
  }
  if (address) taken_[address] = size;
  return address;
}

void* BlockCache::allocate(std::size_t bytes) {
  for (const bool is_last_try : {false, true}) {
    try {
      return arena_->allocate(bytes);
    } catch (const MemoryError&) {
      if (is_last_try || kept_.empty()) return nullptr;
      drop_kept();
    }
  }
  return nullptr;
}

bool BlockCache::give_back(void* address) {
  if (is_forked()) return arena_->find(address, 1).has_value();
  const std::lock_guard lock(mutex_);
  const auto taken = taken_.find(address);
  if (taken == taken_.end()) return false;
  const std::size_t size = taken->second;
  taken_.erase(taken);
  if (kept_bytes_ + size > most_kept_) {
    arena_->free(address);
  } else {
    kept_[size].push_back(address);
    kept_bytes_ += size;
  }
  return true;
}

void BlockCache::drop_kept() {
  for (const auto& [size, blocks] : kept_) {
    for (void* block : blocks) arena_->free(block);
  }
  kept_.clear();
  kept_bytes_ = 0;
}

}  // namespace tutti::torch_backend
