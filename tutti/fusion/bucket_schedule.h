// Progress of one training step: gradients that are computed and buckets that have been started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tutti/fusion/bucket_plan.h"

namespace tutti::fusion {

// Starts each bucket as soon as all its gradients are computed. Not thread-safe.
class BucketSchedule {
 public:
  // kAsReady: buckets start in the order in which they fill, which may differ between ranks.
  // kPlanned: a bucket also waits for those before it in the plan, so the order is the same on all
  // ranks and needs no negotiation.
  enum class Order { kAsReady, kPlanned };
  using Start = std::function<void(std::size_t bucket)>;

  // `sizes`: the gradients in the order of first use.
  BucketSchedule(std::span<const GradientSize> sizes, const BucketLimits& limits, Order order,
                 Start start);

  const std::vector<PlannedBucket>& buckets() const { return buckets_; }

  // Begins a step of `passes` backward passes, whose gradients are summed.
  void begin(int passes);
  // A backward pass has computed gradient i. Throws ConfigError after the last pass.
  void mark_ready(std::size_t i);
  // Starts the remaining buckets: not every parameter takes part in every loss.
  void start_rest();
  // True if a gradient of this step has been computed.
  bool has_begun() const;

 private:
  void start(std::size_t b);

  const std::vector<PlannedBucket> buckets_;
  const Order order_;
  const Start start_;
  std::vector<std::size_t> bucket_of_;  // by gradient
  int passes_ = 1;
  std::vector<int> passes_left_;      // by gradient
  std::vector<std::size_t> missing_;  // gradients, by bucket
  std::vector<bool> is_started_;      // by bucket
};

}  // namespace tutti::fusion
