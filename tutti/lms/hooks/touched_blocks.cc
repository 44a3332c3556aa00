#include "tutti/lms/hooks/touched_blocks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tutti::lms {

void for_each_range(const at::Tensor& tensor, std::int64_t gap,
                    const std::function<void(std::int64_t, std::int64_t)>& visit) {
  if (tensor.numel() == 0) return;
  const auto item = static_cast<std::int64_t>(tensor.itemsize());
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;  // stride in bytes, size
  for (std::int64_t i = 0; i < tensor.dim(); ++i)
    if (tensor.size(i) > 1 && tensor.stride(i) > 0)
      dimensions.emplace_back(tensor.stride(i) * item, tensor.size(i));
  std::sort(dimensions.begin(), dimensions.end());
  std::int64_t length = item;  // of the ranges
  std::size_t outer = 0;
  for (; outer < dimensions.size() && dimensions[outer].first - length < gap; ++outer)
    length += dimensions[outer].first * (dimensions[outer].second - 1);
  const auto visit_from = [&](const auto& self, std::size_t count, std::int64_t start) -> void {
    if (count == outer) return visit(start, length);
    const auto [stride, size] = dimensions[count - 1];
    for (std::int64_t i = 0; i < size; ++i) self(self, count - 1, start + i * stride);
  };
  visit_from(visit_from, dimensions.size(), tensor.storage_offset() * item);
}

void add_touched_blocks(const at::Tensor& tensor, std::int64_t segment_bytes, Pager& pager,
                        std::vector<BlockRef>& refs) {
  const auto* const storage = static_cast<const std::byte*>(tensor.storage().data());
  if (!pager.owns(storage)) return;
  for_each_range(tensor, segment_bytes, [&](std::int64_t start, std::int64_t bytes) {
    std::vector<BlockRef> found;
    pager.find_range(storage + start, bytes, found);
    for (const BlockRef& ref : found)
      if (refs.empty() || refs.back() != ref) refs.push_back(ref);
  });
}

}  // namespace tutti::lms
