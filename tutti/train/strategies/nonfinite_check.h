// Check that the gradients of a step are finite on every rank, and so small that their sum over the ranks and its
// square in the optimizer are finite too.
#pragma once

#include <string>

#include "tutti/comm/communicator.h"
#include "tutti/train/parameters.h"

namespace tutti::train {

// Each rank checks its own gradients before they are reduced, while they are in the cache, so that rank and layer can
// be reported. Then one number is reduced over the ranks, after the gradients.
class NonFiniteCheck {
 public:
  // Both must outlive this object, which must not move while a reduction is in flight.
  NonFiniteCheck(comm::Communicator& group, FlatParameters& parameters)
      : group_(group), parameters_(parameters) {}
  NonFiniteCheck(const NonFiniteCheck&) = delete;
  NonFiniteCheck& operator=(const NonFiniteCheck&) = delete;

  void begin() { layer_.clear(); }
  // Checks tensors `first` to `last` (excluded) of a gradient buffer. Tensors of later layers, whose gradients are
  // ready earlier, must be checked first.
  void check(int buffer, std::size_t first, std::size_t last);
  // Starts the reduction of the result and returns at once. Collective.
  void start_reduction();
  // Waits for the reduction. Returns whether the gradients of all ranks were finite; true before the first reduction.
  bool is_finite();
  // Layer of the first non-finite gradient of this rank in the order of the backward pass; empty: none.
  const std::string& layer() const { return layer_; }

 private:
  comm::Communicator& group_;
  FlatParameters& parameters_;
  std::string layer_;
  float not_finite_ = 0;
  comm::Work reduction_;
};

}  // namespace tutti::train
