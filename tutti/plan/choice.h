// A choice of algorithms for one collective: the output of `choose` and the input of `build`. All ranks must build with
// the same choice.
#pragma once

#include <string>
#include <vector>

namespace tutti::plan {

struct Choice {
  // Names from the algorithm table, one per dimension of the grid. The last one covers all remaining dimensions as one
  // subgroup, so a single name means one algorithm over all ranks. `direct` is only valid at the front, on mapped
  // dimensions; adjacent `direct` dimensions are merged into one.
  std::vector<std::string> algorithms;
  int lanes = 1;
  // Number of ranks per host that use the network, each for one slice of the vector; 0: all. Capped at the number of
  // ranks of the smallest host.
  int rails = 0;
  std::string reason = {};  // one sentence for logs and reports
  double seconds = 0;       // predicted or measured time; 0: unknown

  // The algorithms as text, e.g. "direct x ring".
  std::string text() const;
};

}  // namespace tutti::plan
