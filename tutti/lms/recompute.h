// Recomputation of blocks: the operators that run again to restore a content, and their inputs.
//
// A recipe (trace.h) describes how one operator produces a content. Its inputs are often freed soon after it, but they
// may have recipes, too. The chain for a block follows the inputs back until it reaches contents that still exist:
//
//   convolution -> x -> batch norm -> y -> ReLU -> z      x and z are saved, y is freed
//
// z is dropped after its last use in the forward pass, and restored from x with batch norm and ReLU.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tutti/lms/lifetimes.h"
#include "tutti/lms/trace.h"

namespace tutti::lms {

struct RecomputeChain {
  std::vector<int> recipes;  // in the order of execution; the last one is that of the block
  std::vector<int> inputs;   // blocks that are resident while the chain runs, ascending
  double seconds = 0;
  std::int64_t temporary_bytes = 0;  // intermediate results
};

// Decides which blocks can be recomputed. The trace and the lifetimes must outlive the object.
class RecomputeRules {
 public:
  RecomputeRules(const Trace& trace, const std::vector<Lifetime>& lifetimes);

  // The chain that restores the content of `block` before operator `next_use`, which must be in the same step. Empty if
  // the content or an input has been modified, or an input no longer exists and has no recipe.
  std::optional<RecomputeChain> chain(int block, int next_use) const;

 private:
  bool is_modified(int block, int after, int before) const;
  bool add(int recipe, int next_use, RecomputeChain& chain) const;

  const Trace& trace_;
  const std::vector<Lifetime>& lifetimes_;
  std::vector<std::vector<int>> modified_;  // operators by block, ascending
  std::vector<std::vector<int>> recipes_;   // by block, ascending by operator
};

}  // namespace tutti::lms
