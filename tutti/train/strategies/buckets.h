// Gradients of neighbouring tensors that are reduced together, while backward goes on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// Parameters are cut into buckets from the last layer to the first, the order in which backward
// makes their gradients. A hook on each parameter notes that its gradient is there; when a bucket
// is full, and all before it have been started, it is started too.
class Buckets {
 public:
  using Start = std::function<void(std::size_t)>;
  Buckets(const StrategyParts& parts, Start start);
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
  void add_hook(torch::Tensor& parameter, std::size_t bucket);
  void arrived(std::size_t bucket);

  const std::vector<Bucket> buckets_;
  const Start start_;
  std::vector<std::size_t> missing_;  // gradients that each bucket still waits for
  std::size_t started_ = 0;
  bool is_armed_ = false;
  std::vector<std::pair<std::shared_ptr<torch::autograd::Node>, std::uintptr_t>> hooks_;
};

// The sum over the stages of a network, if it has some: the same on all of them.
double sum_over_stages(double own, comm::Communicator* stages);

// Seconds until it is complete; it is done with then.
double wait_for(comm::Work& work);

}  // namespace tutti::train
