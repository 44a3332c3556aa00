// First and second derivative of the loss of a row by its score.
#pragma once

namespace tutti::learn::tree {

struct GradientPair {
  float gradient, hessian;
};

}  // namespace tutti::learn::tree
