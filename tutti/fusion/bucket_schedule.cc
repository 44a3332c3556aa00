#include "tutti/fusion/bucket_schedule.h"

#include <algorithm>
#include <utility>

#include "tutti/comm/base/require.h"

namespace tutti::fusion {

BucketSchedule::BucketSchedule(std::span<const GradientSize> sizes, const BucketLimits& limits,
                               Order order, Start start)
    : buckets_(plan_buckets(sizes, limits)),
      order_(order),
      start_(std::move(start)),
      bucket_of_(sizes.size()) {
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    for (const std::size_t i : buckets_[b].members) bucket_of_[i] = b;
  begin(1);
}

void BucketSchedule::begin(int passes) {
  comm::require(passes >= 1, "There must be at least one backward pass per step, not {}.", passes);
  passes_ = passes;
  passes_left_.assign(bucket_of_.size(), passes);
  is_started_.assign(buckets_.size(), false);
  missing_.clear();
  for (const PlannedBucket& bucket : buckets_) missing_.push_back(bucket.members.size());
}

void BucketSchedule::mark_ready(std::size_t i) {
  comm::require(
      passes_left_.at(i) > 0,
      "Gradient {} was computed more than {} times in one step: call step() or synchronize(), or "
      "raise backward_passes_per_step.",
      i, passes_);
  if (--passes_left_[i] > 0) return;
  const std::size_t full = bucket_of_[i];
  if (--missing_[full] > 0) return;
  if (order_ == Order::kAsReady) return start(full);
  const auto has_started = [&](std::size_t b) { return b == 0 || is_started_[b - 1]; };
  for (std::size_t b = full; b < buckets_.size() && missing_[b] == 0 && has_started(b); ++b)
    start(b);
}

void BucketSchedule::start(std::size_t b) {
  is_started_[b] = true;
  start_(b);
}

void BucketSchedule::start_rest() {
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    if (!is_started_[b]) start(b);
}

bool BucketSchedule::has_begun() const {
  return std::ranges::any_of(passes_left_, [&](int left) { return left != passes_; });
}

}  // namespace tutti::fusion
