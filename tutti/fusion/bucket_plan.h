// Assignment of gradients to buckets. A bucket is contiguous memory that is reduced in one operation. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/core/dtype.h"

namespace tutti::fusion {

struct GradientSize {
  std::int64_t count = 0;
  DType dtype = DType::kF32;
};

struct PlannedBucket {
  DType dtype = DType::kF32;
  std::vector<std::size_t> members;   // gradients, in the order in which backward computes them
  std::vector<std::int64_t> offsets;  // of each member, in elements
  std::int64_t count = 0;             // elements, padding included
};

struct BucketLimits {
  std::size_t bucket_bytes = 4 << 20;
  std::size_t first_bytes = 1 << 20;  // limit of the first bucket: small, so reduction starts early
  std::size_t alignment = 64;  // alignment of each member in bytes; at least the size of its type
};

// Returns the buckets for gradients of these `sizes`, given in the order of first use in the forward pass. Backward
// computes gradients in reverse, so buckets are filled from the end. A bucket is closed when the next gradient would
// exceed its limit. Each type has separate buckets.
std::vector<PlannedBucket> plan_buckets(std::span<const GradientSize> sizes,
                                        const BucketLimits& limits);

}  // namespace tutti::fusion
