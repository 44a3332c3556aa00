// Gradient buckets: gradients of adjacent tensors that are reduced together during the backward pass.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tutti/fusion/bucket_schedule.h"
#include "tutti/train/strategy.h"

namespace torch::autograd {
struct Node;
}

namespace tutti::train {

struct Bucket {
  std::size_t first, last;  // tensors, `last` excluded
  std::int64_t begin, count;
  std::string name;
};

// Buckets of the fusion engine as ranges of the gradient array. A hook on each parameter marks its gradient as ready;
// buckets start in the planned order.
class Buckets {
 public:
  Buckets(const StrategyContext& context, fusion::BucketSchedule::Start start);
  ~Buckets();
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;

  std::size_t size() const { return buckets_.size(); }
  const Bucket& operator[](std::size_t b) const { return buckets_[b]; }

  // From now on, complete buckets are started.
  void arm();
  // Starts the remaining buckets: parameters that did not contribute to the loss have no gradient.
  void start_rest();

 private:
  void add_hook(torch::Tensor& parameter, std::size_t gradient);

  fusion::BucketSchedule schedule_;
  std::vector<Bucket> buckets_;
  bool is_armed_ = false;
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, std::uintptr_t>> hooks_;
};

// Sum over the pipeline stages, the same on all of them; `own` without stages.
double sum_over_stages(double own, comm::Communicator* stages);

// Waits for the operation, releases it and returns the seconds waited.
double wait_for(comm::Work& work);

}  // namespace tutti::train
