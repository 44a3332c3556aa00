// Whether the gradients of a step are finite on every rank that takes it, and so small that their
// sum over the ranks, and the squares that update rules take of it, are finite too.
#pragma once

#include <string>

#include "tutti/comm/communicator.h"
#include "tutti/train/parameters.h"

namespace tutti::train {

// Every rank looks at its own gradients before they are mixed with those of others, while they are
// still in the cache, so that rank and layer can be named; then the ranks tell each other by one
// number, which travels behind the gradients.
class NonFiniteCheck {
 public:
  // Both must outlive it. Its address must stay while others are told.
  NonFiniteCheck(comm::Communicator& group, FlatParameters& parameters)
      : group_(group), parameters_(parameters) {}
  NonFiniteCheck(const NonFiniteCheck&) = delete;
  NonFiniteCheck& operator=(const NonFiniteCheck&) = delete;

  void begin() { layer_.clear(); }
  // At the tensors `first` to `last` (excluded) of a buffer of gradients. Tensors of later layers,
  // whose gradients are made earlier, must be looked at first.
  void check(int buffer, std::size_t first, std::size_t last);
  // Tells the others what was found, and returns at once. Collective.
  void start_reduction();
  // After waiting for what the others told: whether all were good. True before the first `tell`.
  bool is_finite();
  // Of this rank: where the first gradient on the way back was not good; empty: all were.
  const std::string& layer() const { return layer_; }

 private:
  comm::Communicator& group_;
  FlatParameters& parameters_;
  std::string layer_;
  float not_finite_ = 0;
  comm::Work reduction_;
};

}  // namespace tutti::train
