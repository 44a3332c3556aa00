// First and second derivatives of the loss of a row with respect to its score.
#pragma once

namespace tutti::learn::tree {

struct GradientPair {
  float gradient, hessian;
};

}  // namespace tutti::learn::tree
