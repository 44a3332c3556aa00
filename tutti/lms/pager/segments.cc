// The functions of Pager for address ranges and allocations of several blocks.
#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "tutti/core/error.h"
#include "tutti/lms/pager/mapping.h"
#include "tutti/lms/pager/paged_block.h"
#include "tutti/lms/pager/pager.h"

namespace tutti::lms {

std::byte* Pager::take_addresses(std::int64_t bytes, std::int64_t alignment) {
  const auto offset = ranges_.take(bytes, alignment);
  if (!offset)
    throw MemoryError("DDL-5-73", "All reserved address space of large model support is in use.");
  return base_ + *offset;
}

PagedBlock* Pager::new_block(std::byte* address, std::int64_t bytes) {
  if (unused_.empty()) unused_.push_back(all_.emplace_back(std::make_unique<PagedBlock>()).get());
  PagedBlock* const block = unused_.back();
  unused_.pop_back();
  block->address = address;
  block->bytes = block->reserved_bytes = bytes;
  block->segments = 1;
  block->is_segment = false;
  return block;
}

std::byte* Pager::allocate_segments(std::int64_t bytes, std::int64_t segment_bytes) {
  if (is_forked()) return nullptr;
  const std::int64_t unit = memory_->granularity();
  bytes = (std::max<std::int64_t>(bytes, 1) + unit - 1) / unit * unit;
  const MutexLock lock(mutex_);
  std::byte* const address = take_addresses(bytes, kHugePage);
  const auto count = static_cast<int>((bytes + segment_bytes - 1) / segment_bytes);
  for (int i = 0; i < count; ++i) {
    const std::int64_t offset = i * segment_bytes;
    PagedBlock* const block = new_block(address + offset, std::min(segment_bytes, bytes - offset));
    block->renew(++clock_);
    block->state = PagedBlock::State::kEmpty;
    block->is_segment = true;
    block->segments = i == 0 ? count : 0;
    blocks_[block->address] = block;
  }
  statistics_.blocks += count;
  return address;
}

std::vector<PagedBlock*> Pager::allocation_at(const void* address) {
  std::vector<PagedBlock*> blocks;
  auto found = blocks_.find(static_cast<const std::byte*>(address));
  if (found == blocks_.end() || !found->second->is_used) return blocks;
  const int count = found->second->segments;
  for (int i = 0; i < count; ++i, ++found) blocks.push_back(found->second);
  return blocks;
}

std::vector<BlockRef> Pager::blocks_at(const void* address) {
  std::vector<BlockRef> refs;
  if (!owns(address)) return refs;
  const MutexLock lock(mutex_);
  for (PagedBlock* block : allocation_at(address)) refs.push_back({block, block->serial});
  return refs;
}

void Pager::find_range(const void* address, std::int64_t bytes, std::vector<BlockRef>& refs) {
  if (!owns(address) || bytes <= 0) return;
  const auto* const begin = static_cast<const std::byte*>(address);
  const MutexLock lock(mutex_);
  auto found = blocks_.upper_bound(begin);
  if (found != blocks_.begin() &&
      std::prev(found)->second->address + std::prev(found)->second->bytes > begin)
    --found;
  for (; found != blocks_.end() && found->first < begin + bytes; ++found)
    if (found->second->is_used) refs.push_back({found->second, found->second->serial});
}

void Pager::supply(MutexLock& lock, PagedBlock& block) {
  const std::uint64_t serial = block.serial;
  make_room(lock, block.bytes);
  if (block.serial != serial || block.state != PagedBlock::State::kEmpty) return;
  memory_->supply(block.address, block.bytes);
  block.state = PagedBlock::State::kResident;
  statistics_.add_resident(block.bytes);
}

}  // namespace tutti::lms
