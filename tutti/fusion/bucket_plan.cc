#include "tutti/fusion/bucket_plan.h"

#include <array>

namespace tutti::fusion {
namespace {

std::int64_t aligned(std::int64_t count, DType dtype, std::size_t alignment) {
  const auto unit = static_cast<std::int64_t>(alignment / size_of(dtype));
  return (count + unit - 1) / unit * unit;
}

}  // namespace

std::vector<PlannedBucket> plan_buckets(std::span<const GradientSize> sizes,
                                        const BucketLimits& limits) {
  std::vector<PlannedBucket> buckets;
  std::array<std::ptrdiff_t, kDTypeCount> open;
  open.fill(-1);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const auto [count, dtype] = sizes[i];
    std::ptrdiff_t& at = open[static_cast<std::size_t>(dtype)];
    const std::int64_t more = aligned(count, dtype, limits.alignment);
    if (at >= 0) {
      const PlannedBucket& bucket = buckets[static_cast<std::size_t>(at)];
      const std::size_t limit = at == 0 ? limits.first_bytes : limits.bucket_bytes;
      if (static_cast<std::size_t>(bucket.count + more) * size_of(dtype) > limit) at = -1;
    }
    if (at < 0) {
      at = static_cast<std::ptrdiff_t>(buckets.size());
      buckets.emplace_back().dtype = dtype;
    }
    PlannedBucket& bucket = buckets[static_cast<std::size_t>(at)];
    bucket.members.push_back(i);
    bucket.offsets.push_back(bucket.count);
    bucket.count += more;
  }
  return buckets;
}

}  // namespace tutti::fusion
