// Which algorithm goes along which dimension, in how many lanes: what `choose` decides and `build`
// carries out. All ranks must build with the same choice.
#pragma once

#include <string>
#include <vector>

namespace tutti::plan {

struct Choice {
  // Names from the algorithm table, one per dimension of the grid; the last one covers all
  // dimensions that are left, as one line. So a single name means: over all ranks at once. `direct`
  // may only stand first, on mapped dimensions; neighbouring ones are done as one.
  std::vector<std::string> algorithms;
  int lanes = 1;
  // How many ranks of a host use the network, each for its share of the vector; 0: all.
  // Never more than the smallest host has.
  int rails = 0;
  std::string reason = {};  // one sentence, for people
  double seconds = 0;       // predicted or measured, 0 when unknown

  // "direct x ring"
  std::string text() const;
};

}  // namespace tutti::plan
