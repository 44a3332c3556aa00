#include "tutti/lms/pager/ranges.h"

#include <iterator>

namespace tutti::lms {

std::optional<std::int64_t> Ranges::take(std::int64_t bytes, std::int64_t alignment) {
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [start, length] = *range;
    const std::int64_t aligned = (start + alignment - 1) / alignment * alignment;
    const std::int64_t rest = start + length - (aligned + bytes);
    if (rest < 0) continue;
    if (aligned > start)
      range->second = aligned - start;
    else
      free_.erase(range);
    if (rest > 0) free_[aligned + bytes] = rest;
    return aligned;
  }
  return std::nullopt;
}

void Ranges::give_back(std::int64_t start, std::int64_t bytes) {
  auto next = free_.lower_bound(start);
  if (next != free_.end() && start + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == start) {
      previous->second += bytes;
      return;
    }
  }
  free_[start] = bytes;
}

void Ranges::extend(std::int64_t bytes) {
  const std::int64_t start = end_;
  end_ += bytes;
  give_back(start, bytes);
}

}  // namespace tutti::lms
