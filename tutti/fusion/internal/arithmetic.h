// The little arithmetic of buckets: scaling, zeros that change nothing, and the pairs of adasum.
#pragma once

#include <cstdint>

#include "tutti/core/buffer.h"
#include "tutti/core/dtype.h"

namespace tutti::fusion {

// target = source * factor; the same memory or apart. Integers are cut towards zero.
void scale(ConstBuffer source, double factor, void* target);

// What a rank that has no data brings: 0 for sums, 1 for products, the largest value for minima...
void fill_identity(Buffer buffer, ReduceOp op);

// mine = adasum of `mine` and `other`: (1 - m.o / 2m.m) m + (1 - m.o / 2o.o) o. Two ranks that call
// it with the two sides swapped get the same bits when they also swap `is_first`.
void adasum_pair(Buffer mine, const void* other, bool is_first);

}  // namespace tutti::fusion
