// The option -mode: algorithms and grid dimensions, e.g. "p", "b:4x2", "r:8", "b,c:4x2", "direct,ring".
//
// Before the colon: one letter or algorithm name per dimension, separated by commas; the last one covers all remaining
// dimensions. After the colon: sizes of the dimensions, fastest first. Letters:
//   b n   direct in shared memory where ranks share it, ring elsewhere
//   r     ring
//   c     halving_doubling
//   m     the transport's native collectives
//   p     the fastest choice, as measured or predicted
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tutti/topo/grid.h"

namespace tutti::plan {

struct Mode {
  std::vector<std::string> algorithms;  // algorithm names; empty: chosen automatically
  bool only_where_mapped = false;       // b, n: ring replaces `direct` where memory is not shared
  std::vector<int> dimensions;          // sizes; empty: from the machine
  std::string letters;                  // letters of the algorithms that were given by letter

  bool has_letter(char letter) const { return letters.find(letter) != std::string::npos; }

  // Returns one algorithm name per dimension of `grid`.
  std::vector<std::string> algorithms_on(const topo::Grid& grid) const;
};

// Parses the option. Throws ConfigError with the valid values for an unknown letter or name, or a size that is not a
// number.
Mode parse_mode(std::string_view text);

}  // namespace tutti::plan
