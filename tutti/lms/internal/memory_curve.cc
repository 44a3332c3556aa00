#include "tutti/lms/internal/memory_curve.h"

#include <algorithm>
#include <limits>

namespace tutti::lms {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min() / 2;

}  // namespace

MemoryCurve::MemoryCurve(const Trace& trace) {
  std::int64_t bytes = trace.small_bytes;
  for (const Block& block : trace.blocks) bytes += block.is_persistent ? block.bytes : 0;
  const auto apply = [&](const std::vector<MemoryEvent>& events, int op) {
    for (const MemoryEvent& event : events) {
      const std::int64_t size = trace.blocks[static_cast<std::size_t>(event.block)].bytes;
      bytes += event.kind == EventKind::kAllocate ? size : -size;
      append(bytes, op);
    }
  };
  ends_.push_back(0);
  for (std::size_t index = 0; index < trace.operators.size(); ++index) {
    const Operator& op = trace.operators[index];
    const int number = static_cast<int>(index);
    apply(op.events_before, number);
    starts_.push_back(static_cast<int>(values_.size()));
    append(bytes, number);
    apply(op.events, number);
    ends_.push_back(static_cast<int>(values_.size()));
  }
  apply(trace.events_after, static_cast<int>(trace.operators.size()));
  size_ = values_.size();
  starts_.push_back(static_cast<int>(size_));
  build();
}

void MemoryCurve::append(std::int64_t bytes, int op) {
  values_.push_back(bytes);
  operators_.push_back(op);
}

void MemoryCurve::build() {
  while (leaves_ < static_cast<int>(size_)) leaves_ *= 2;
  const auto leaves = static_cast<std::size_t>(leaves_);
  added_.assign(2 * leaves, 0);
  largest_.assign(2 * leaves, kLowest);
  std::copy(values_.begin(), values_.end(), largest_.begin() + leaves_);
  for (std::size_t node = leaves - 1; node > 0; --node) {
    largest_[node] = std::max(largest_[2 * node], largest_[2 * node + 1]);
  }
}

void MemoryCurve::add(int first, int last, std::int64_t bytes) {
  if (first < last) add(1, 0, leaves_, first, last, bytes);
}

std::int64_t MemoryCurve::maximum(int first, int last) const {
  return first < last ? maximum(1, 0, leaves_, first, last) : kLowest;
}

int MemoryCurve::first_above(int first, std::int64_t limit) const {
  return std::min(first_above(1, 0, leaves_, first, limit), size());
}

int MemoryCurve::last_above(int last, std::int64_t limit) const {
  return last_above(1, 0, leaves_, last, limit);
}

void MemoryCurve::add(std::size_t node, int low, int high, int first, int last,
                      std::int64_t bytes) {
  if (last <= low || high <= first) return;
  if (first <= low && high <= last) {
    added_[node] += bytes;
    largest_[node] += bytes;
    return;
  }
  const int middle = (low + high) / 2;
  add(2 * node, low, middle, first, last, bytes);
  add(2 * node + 1, middle, high, first, last, bytes);
  largest_[node] = std::max(largest_[2 * node], largest_[2 * node + 1]) + added_[node];
}

std::int64_t MemoryCurve::maximum(std::size_t node, int low, int high, int first, int last) const {
  if (last <= low || high <= first) return kLowest;
  if (first <= low && high <= last) return largest_[node];
  const int middle = (low + high) / 2;
  return added_[node] + std::max(maximum(2 * node, low, middle, first, last),
                                 maximum(2 * node + 1, middle, high, first, last));
}

int MemoryCurve::first_above(std::size_t node, int low, int high, int first,
                             std::int64_t limit) const {
  if (high <= first || largest_[node] <= limit) return leaves_;
  if (high - low == 1) return low;
  const int middle = (low + high) / 2;
  const int found = first_above(2 * node, low, middle, first, limit - added_[node]);
  return found < leaves_ ? found
                         : first_above(2 * node + 1, middle, high, first, limit - added_[node]);
}

int MemoryCurve::last_above(std::size_t node, int low, int high, int last,
                            std::int64_t limit) const {
  if (last <= low || largest_[node] <= limit) return -1;
  if (high - low == 1) return low;
  const int middle = (low + high) / 2;
  const int found = last_above(2 * node + 1, middle, high, last, limit - added_[node]);
  return found >= 0 ? found : last_above(2 * node, low, middle, last, limit - added_[node]);
}

}  // namespace tutti::lms
