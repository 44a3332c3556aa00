#include "tutti/learn/tree/grow/node_rules.h"

#include "tutti/comm/communicator.h"

namespace tutti::learn::tree {

bool may_split(const GrownNode& node, const GrowOptions& options, const SplitRules& rules) {
  const auto count = static_cast<double>(node.sums.count);
  if (options.max_depth > 0 && node.depth >= options.max_depth) return false;
  if (count < options.min_samples_split || count < 2 * rules.min_samples_leaf) return false;
  if (!options.is_classification) return true;
  if (node.sums.classes.empty())
    return node.sums.gradient != 0 && node.sums.gradient != node.sums.hessian;
  return *std::max_element(node.sums.classes.begin(), node.sums.classes.end()) != node.sums.hessian;
}

void LabelRange::reduce(comm::Communicator* communicator) {
  if (communicator != nullptr)
    communicator->all_reduce(Buffer::of<double>(bounds_), ReduceOp::kMax);
}

}  // namespace tutti::learn::tree
