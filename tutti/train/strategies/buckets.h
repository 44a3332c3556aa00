// Gradients of neighbouring tensors that are reduced together while backward runs.
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

// The buckets of fusion, as ranges of the one array of gradients. A hook on each parameter marks
// its gradient as ready; buckets start in the planned order.
class Buckets {
 public:
  Buckets(const StrategyContext& context, fusion::BucketSchedule::Start start);
  ~Buckets();
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;

  std::size_t size() const { return buckets_.size(); }
  const Bucket& operator[](std::size_t b) const { return buckets_[b]; }

  // From now on full buckets are started.
  void arm();
  // Starts those that are left: of parameters that had no part in the loss.
  void start_rest();

 private:
  void add_hook(torch::Tensor& parameter, std::size_t gradient);

  fusion::BucketSchedule schedule_;
  std::vector<Bucket> buckets_;
  bool is_armed_ = false;
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, std::uintptr_t>> hooks_;
};

// The sum over the stages of a network, if it has some: the same on all of them.
double sum_over_stages(double own, comm::Communicator* stages);

// Seconds until it is complete; it is done with then.
double wait_for(comm::Work& work);

}  // namespace tutti::train
