// Sample weights brought into a range without underflow and overflow.
#pragma once

#include <span>
#include <vector>

#include "tutti/learn/tree/targets.h"

namespace tutti::comm {
class Communicator;
}

namespace tutti::learn::tree {

// The weights times a power of two, the same on all ranks. The largest is between 1 and 2. Weights whose maximum is
// between 2^-32 and 2^64 are not copied, and the factor is 1. Penalties and limits in units of the weights must be
// multiplied by the factor too. The original weights must outlive this object.
class ScaledWeights {
 public:
  ScaledWeights(const Targets& targets, comm::Communicator* communicator);
  ScaledWeights(const ScaledWeights&) = delete;
  ScaledWeights& operator=(const ScaledWeights&) = delete;

  const Targets& targets() const { return targets_; }
  double factor() const { return factor_; }

 private:
  Targets targets_;
  double factor_ = 1;
  std::vector<double> copy_;
};

}  // namespace tutti::learn::tree
