// Labels and sample weights of the rows.
#pragma once

#include <span>

namespace tutti::learn::tree {

struct Targets {
  std::span<const double> labels;   // regression: numbers; else classes 0, 1, ...
  std::span<const double> weights;  // empty: all 1; 0: the row is not there
};

}  // namespace tutti::learn::tree
