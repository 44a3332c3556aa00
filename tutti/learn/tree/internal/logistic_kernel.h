// Vectorised gradients of the logistic loss.
#pragma once

#include <cstddef>

#include "tutti/learn/tree/gradient_pair.h"

namespace tutti::learn::tree {

// out[i] = weight * {p - label, p (1 - p)}, p = 1 / (1 + exp(-score)). `weights` null: all 1. Bitwise identical on
// every CPU.
void logistic_gradients(const double* labels, const double* weights, const double* scores,
                        std::size_t size, GradientPair* out);

}  // namespace tutti::learn::tree
