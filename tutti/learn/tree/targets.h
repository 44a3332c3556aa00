// Labels and sample weights of the rows.
#pragma once

#include <span>

namespace tutti::learn::tree {

struct Targets {
  std::span<const double> labels;   // regression: numbers; classification: classes 0, 1, ...
  std::span<const double> weights;  // empty: all 1; rows of weight 0 are ignored
};

}  // namespace tutti::learn::tree
