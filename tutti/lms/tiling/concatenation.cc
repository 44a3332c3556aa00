#include <ATen/Functions.h>

#include <algorithm>
#include <utility>

#include "tutti/lms/tiling/operators.h"
#include "tutti/lms/tiling/tile_size.h"
#include "tutti/lms/tiling/tiles.h"

namespace tutti::lms {
namespace {

using at::Tensor;

bool run_cat(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  Call call(op, stack);
  const std::vector<Tensor> tensors = call[0].toTensorVector();
  if (tensors.empty() || !call.is_plain()) return false;
  const Tensor& first = tensors.front();
  const std::int64_t rank = first.dim();
  const std::int64_t dimension = call[1].toInt() < 0 ? call[1].toInt() + rank : call[1].toInt();
  if (rank == 0 || dimension < 0 || dimension >= rank) return false;

  std::vector<std::int64_t> sizes = first.sizes().vec();
  std::int64_t length = 0;
  const auto format = first.suggest_memory_format();
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() != rank || tensor.scalar_type() != first.scalar_type() ||
        tensor.suggest_memory_format() != format)
      return false;
    length += tensor.size(dimension);
    std::vector<std::int64_t> others = tensor.sizes().vec();
    others[static_cast<std::size_t>(dimension)] = first.size(dimension);
    if (others != sizes) return false;
  }
  sizes[static_cast<std::size_t>(dimension)] = length;
  const std::int64_t elements =
      length * (first.numel() / std::max<std::int64_t>(1, first.size(dimension)));
  if (!call.is_large(elements * static_cast<std::int64_t>(first.itemsize()))) return false;

  const Tensor result = at::empty(sizes, first.options(), format);
  std::int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    copy_in_tiles(range_of(result, dimension, start, tensor.size(dimension)), tensor);
    start += tensor.size(dimension);
  }
  return call.finish({result});
}

}  // namespace

std::vector<TiledOperator> concatenation_operators() {
  return {{{"aten::cat", ""}, &run_cat}};
}

}  // namespace tutti::lms
