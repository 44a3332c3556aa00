#include "tutti/lms/tiling/tiles.h"
#include "tutti/lms/tiling/tile_size.h"

#include <ATen/core/TensorBody.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tutti::lms {
namespace {

// Maximum number of memory ranges per copy. At the borders of each range, whole blocks must be resident.
constexpr std::int64_t kMostRanges = 8;

// Elements of the ranges of memory that a tensor consists of.
std::int64_t range_elements(const at::Tensor& tensor) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;  // stride, size
  for (std::int64_t i = 0; i < tensor.dim(); ++i)
    if (tensor.size(i) > 1 && tensor.stride(i) > 0)
      dimensions.emplace_back(tensor.stride(i), tensor.size(i));
  std::sort(dimensions.begin(), dimensions.end());
  std::int64_t count = 1;
  for (const auto& [stride, size] : dimensions) {
    if (stride != count) break;
    count *= size;
  }
  return count;
}

// Calls `visit` for the parts of both tensors that are copied or added at once.
template <class Visit>
void for_each_part(const at::Tensor& target, const at::Tensor& source, const Visit& visit) {
  const auto bytes = static_cast<std::int64_t>(target.itemsize() + source.itemsize());
  const std::int64_t most = std::max<std::int64_t>(
      1, std::min(tile_bytes() / bytes,
                  kMostRanges * std::min(range_elements(target), source.numel() < target.numel()
                                                                     ? target.numel()
                                                                     : range_elements(source))));
  for (const Tile& tile : tiles_of(target.sizes(), target.strides(), most))
    visit(part_of(target, tile, target.sizes()), part_of(source, tile, target.sizes()));
}

}  // namespace

std::vector<Tile> tiles_of(at::IntArrayRef sizes, at::IntArrayRef strides, std::int64_t most,
                           std::int64_t whole) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return {};
  const std::size_t rank = sizes.size();
  std::vector<std::size_t> order;  // of the dimensions that may be divided, by descending stride
  for (std::size_t i = 0; i < rank; ++i)
    if (static_cast<std::int64_t>(i) != whole) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  std::vector<std::int64_t> steps = sizes.vec();
  std::int64_t count = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1},
                                       [](std::int64_t a, std::int64_t b) { return a * b; });
  for (const std::size_t i : order) {
    if (count <= most) break;
    count /= sizes[i];  // elements of one index
    const std::int64_t parts = count >= most ? sizes[i] : (sizes[i] - 1) / (most / count) + 1;
    steps[i] = (sizes[i] - 1) / parts + 1;
    count *= steps[i];
  }
  std::vector<Tile> tiles;
  Tile tile{std::vector<std::int64_t>(rank, 0), steps};
  for (bool is_complete = false; !is_complete;) {
    tiles.push_back(tile);
    is_complete = true;
    for (auto i = order.rbegin(); i != order.rend() && is_complete; ++i) {
      std::int64_t& start = tile.starts[*i];
      start += steps[*i];
      is_complete = start >= sizes[*i];
      if (is_complete) start = 0;
      tile.sizes[*i] = std::min(steps[*i], sizes[*i] - start);
    }
  }
  return tiles;
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.layout() == at::kStrided && tensor.has_storage() &&
         !tensor.is_conj() && !tensor.is_neg() && !tensor.is_quantized() && !tensor.is_complex() &&
         !tensor.has_names() && !tensor._is_zerotensor() &&
         !tensor.key_set().has(c10::DispatchKey::Python);
}

std::int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.numel() * static_cast<std::int64_t>(tensor.itemsize());
}

at::Tensor view_of(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides,
                   std::int64_t offset) {
  c10::Storage storage = tensor.storage();
  at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  view.unsafeGetTensorImpl()->set_storage_offset(offset);
  view.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return view;
}

at::Tensor part_of(const at::Tensor& tensor, const Tile& tile, at::IntArrayRef sizes) {
  std::vector<std::int64_t> part = tensor.sizes().vec();
  std::int64_t offset = tensor.storage_offset();
  const std::size_t first = sizes.size() - part.size();
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != sizes[first + i]) continue;  // broadcast
    part[i] = tile.sizes[first + i];
    offset += tile.starts[first + i] * tensor.stride(static_cast<std::int64_t>(i));
  }
  return view_of(tensor, part, tensor.strides(), offset);
}

at::Tensor range_of(const at::Tensor& tensor, std::int64_t dimension, std::int64_t start,
                    std::int64_t length) {
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes[static_cast<std::size_t>(dimension)] = length;
  return view_of(tensor, sizes, tensor.strides(),
                 tensor.storage_offset() + start * tensor.stride(dimension));
}

void copy_in_tiles(const at::Tensor& target, const at::Tensor& source) {
  for_each_part(target, source, [](at::Tensor to, const at::Tensor& from) { to.copy_(from); });
}

void add_in_tiles(const at::Tensor& target, const at::Tensor& source) {
  for_each_part(target, source, [](at::Tensor to, const at::Tensor& from) { to.add_(from); });
}

void zero_in_tiles(const at::Tensor& target) {
  for_each_part(target, target, [](at::Tensor to, const at::Tensor&) { to.zero_(); });
}

}  // namespace tutti::lms
