#include "tutti/comm/transport/shm/internal/segment.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace tutti::comm::internal {
namespace {

// Freed blocks of at least this size release their pages; smaller ones keep them for the next allocation.
constexpr std::size_t kLargeBytes = Segment::kGranule;

}  // namespace

Segment::Segment(std::size_t bytes)
    : memory_(SharedMemory::create(bytes)), has_pages_(bytes / kGranule), free_{{0, bytes}} {}

bool Segment::contains(const void* address, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_->data());
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return at >= begin && at - begin < memory_->bytes() && bytes <= memory_->bytes() - (at - begin);
}

std::optional<std::size_t> Segment::take(std::size_t bytes, std::size_t alignment) {
  const auto base = reinterpret_cast<std::uintptr_t>(memory_->data());
  for (const auto& block : free_) {
    const std::size_t begin = block.first;  // copies, because the block is erased below
    const std::size_t offset = ((base + begin + alignment - 1) & ~(alignment - 1)) - base;
    const std::size_t end = begin + block.second;
    if (offset > end || end - offset < bytes) continue;
    free_.erase(begin);
    if (offset > begin) free_[begin] = offset - begin;
    if (offset + bytes < end) free_[offset + bytes] = end - offset - bytes;
    used_[offset] = bytes;
    return offset;
  }
  return std::nullopt;
}

Result Segment::reserve(std::size_t offset, std::size_t bytes) {
  const std::size_t last = (offset + bytes - 1) / kGranule;
  for (std::size_t first = offset / kGranule; first <= last; ++first) {
    std::size_t end = first;  // one call per run of granules
    while (end <= last && !has_pages_[end]) ++end;
    if (end == first) continue;
    Result result = memory_->reserve(first * kGranule, (end - first) * kGranule);
    if (!result) {
      memory_->release(first * kGranule, (end - first) * kGranule);  // partly allocated
      return result;
    }
    std::fill(has_pages_.begin() + first, has_pages_.begin() + end, true);
    first = end;
  }
  return Result::ok();
}

std::optional<std::size_t> Segment::give_back(std::size_t offset) {
  const auto block = used_.find(offset);
  if (block == used_.end()) return std::nullopt;
  const std::size_t bytes = block->second;
  std::size_t begin = offset;
  std::size_t end = offset + bytes;
  used_.erase(block);
  const auto after = free_.find(end);
  if (after != free_.end()) {
    end += after->second;
    free_.erase(after);
  }
  const auto next = free_.lower_bound(begin);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) begin = before->first;
  }
  free_[begin] = end - begin;
  if (bytes >= kLargeBytes) release_pages(begin, end);
  return bytes;
}

void Segment::release_pages(std::size_t begin, std::size_t end) {
  const std::size_t first = (begin + kGranule - 1) / kGranule;
  const std::size_t last = end / kGranule;
  if (first >= last) return;
  memory_->release(first * kGranule, (last - first) * kGranule);
  std::fill(has_pages_.begin() + first, has_pages_.begin() + last, false);
}

}  // namespace tutti::comm::internal
