// Gradients of the logistic loss with the widest vectors the processor has.
#pragma once

#include <cstddef>

#include "tutti/learn/tree/gradient_pair.h"

namespace tutti::learn::tree {

// out[i] = weight * {p - label, p (1 - p)}, p = 1 / (1 + exp(-score)). `weights` may be null. The
// same bits on every processor.
void logistic_gradients(const double* labels, const double* weights, const double* scores,
                        std::size_t size, GradientPair* out);

}  // namespace tutti::learn::tree
