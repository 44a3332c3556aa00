#include "tutti/learn/tree/internal/scaled_weights.h"

#include <algorithm>
#include <cmath>

#include "tutti/comm/communicator.h"

namespace tutti::learn::tree {

ScaledWeights::ScaledWeights(const Targets& targets, comm::Communicator* communicator)
    : targets_(targets) {
  double greatest = 0;
  for (const double weight : targets.weights) greatest = std::max(greatest, weight);
  if (communicator != nullptr)
    communicator->all_reduce(Buffer::of<double>({&greatest, 1}), ReduceOp::kMax);
  const bool is_extreme = greatest > 0 && (greatest < 0x1p-32 || greatest > 0x1p64);
  if (!is_extreme || !std::isfinite(greatest)) return;
  const int exponent = -std::ilogb(greatest);
  factor_ = std::ldexp(1.0, std::min(exponent, 1023));
  copy_.assign(targets.weights.begin(), targets.weights.end());
  for (double& weight : copy_) weight = std::ldexp(weight, exponent);
  targets_.weights = copy_;
}

}  // namespace tutti::learn::tree
