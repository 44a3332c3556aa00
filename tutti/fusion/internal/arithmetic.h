// Element-wise operations on buckets: scaling, the identity of a reduction, and pairwise Adasum.
#pragma once

#include <cstdint>

#include "tutti/core/buffer.h"
#include "tutti/core/dtype.h"

namespace tutti::fusion {

// target = source * factor; source and target may be the same memory but must not overlap otherwise. Integers are
// truncated towards zero.
void scale(ConstBuffer source, double factor, void* target);

// Fills the buffer with the identity element of `op`: 0 for sums, 1 for products, the largest value for minima, ...
// This is the contribution of a rank without data.
void fill_identity(Buffer buffer, ReduceOp op);

// mine = Adasum of `mine` and `other`: (1 - m.o / 2m.m) m + (1 - m.o / 2o.o) o. Two ranks that call it with the sides
// swapped, and `is_first` swapped, get bitwise identical results.
void adasum_pair(Buffer mine, const void* other, bool is_first);

}  // namespace tutti::fusion
