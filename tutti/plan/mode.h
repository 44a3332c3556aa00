// The option -mode: which algorithms, on which dimensions. "p", "b:4x2", "r:8", "b,c:4x2",
// "direct,ring".
//
// Before the colon one letter or name for each dimension, separated by commas, the last for all
// that are left; after it the sizes of the dimensions, fastest first. Letters:
//   b n   direct in shared memory where ranks share it, ring elsewhere
//   r     ring               m   the transport's own collectives
//   c     halving_doubling   p   whatever is fastest, as measured or predicted
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tutti/topo/grid.h"

namespace tutti::plan {

struct Mode {
  std::vector<std::string> algorithms;  // names; none: choose
  bool only_where_mapped = false;  // b, n: `direct` gives way to ring where memory is not shared
  std::vector<int> dimensions;     // sizes; none: as the machine is
  std::string letters;             // of those algorithms that were named by a letter

  bool has_letter(char letter) const { return letters.find(letter) != std::string::npos; }

  // The algorithms for each dimension of `grid`.
  std::vector<std::string> algorithms_on(const topo::Grid& grid) const;
};

// Throws ConfigError that says what to write: an unknown letter or name, a size that is no number.
Mode parse_mode(std::string_view text);

}  // namespace tutti::plan
