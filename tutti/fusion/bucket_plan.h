// Which gradients share a piece of memory and go together. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/core/dtype.h"

namespace tutti::comm::fusion {

struct GradientSize {
  std::int64_t count = 0;
  DType dtype = DType::kF32;
};

struct PlannedBucket {
  DType dtype = DType::kF32;
  std::vector<std::size_t> members;   // gradients, in the order in which they come
  std::vector<std::int64_t> offsets;  // of each member, in elements
  std::int64_t count = 0;             // elements, with what alignment needs
};

// `sizes` in the order of first use in the forward pass, so gradients come in reverse, and buckets
// are filled from the end. A bucket is closed when the next gradient would bring it above
// `bucket_bytes`; the first one already above `first_bytes`, so that reduction starts early. Every
// type has its own buckets. Members begin at multiples of 64 bytes.
std::vector<PlannedBucket> plan_buckets(std::span<const GradientSize> sizes,
                                        std::size_t bucket_bytes, std::size_t first_bytes);

}  // namespace tutti::comm::fusion
