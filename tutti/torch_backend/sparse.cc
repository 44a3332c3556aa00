#include "tutti/torch_backend/sparse.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "tutti/torch_backend/tensors.h"

namespace tutti::torch_backend {
namespace {

// Properties of a sparse tensor that ranks exchange: type, dimensions, entries, sizes. Few tensors have more
// dimensions.
constexpr std::int64_t kMostDimensions = 12;

at::Tensor shape_of(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.dim() <= kMostDimensions, "a sparse tensor of ", tensor.dim(),
              " dimensions cannot be reduced; at most ", kMostDimensions);
  at::Tensor shape = at::zeros({4 + kMostDimensions}, at::kLong);
  auto* values = shape.data_ptr<std::int64_t>();
  values[0] = static_cast<std::int64_t>(tensor.scalar_type());
  values[1] = tensor.sparse_dim();
  values[2] = tensor.dense_dim();
  values[3] = tensor._nnz();
  std::copy(tensor.sizes().begin(), tensor.sizes().end(), values + 4);
  return shape;
}

// One row of it, for an error message.
c10::IntArrayRef listed(const at::Tensor& shape) {
  const auto* values = shape.data_ptr<std::int64_t>();
  return {values, static_cast<std::size_t>(4 + values[1] + values[2])};
}

// Gathers the entries of all ranks, by rank; the number of entries may differ between ranks. The first dimension of
// `mine` counts its entries.
std::vector<at::Tensor> gather_entries(comm::Communicator& communicator, const at::Tensor& mine,
                                       const std::vector<std::int64_t>& entries,
                                       const comm::CallOptions& call) {
  std::vector<std::int64_t> sizes = mine.sizes().vec();
  std::vector<at::Tensor> parts;
  std::int64_t total = 0;
  for (const std::int64_t count : entries) total += count;
  sizes[0] = total;
  const at::Tensor all = at::empty(sizes, mine.options());
  std::vector<std::int64_t> counts;
  std::int64_t begin = 0;
  for (const std::int64_t count : entries) {
    parts.push_back(all.narrow(0, begin, count));
    counts.push_back(elements_of(parts.back()).count);
    begin += count;
  }
  communicator.all_gather(elements_of(mine), elements_of(all), counts, call);
  return parts;
}

}  // namespace

void all_reduce_sparse(comm::Communicator& communicator, at::Tensor tensor,
                       const comm::CallOptions& call) {
  const at::Tensor mine = tensor.coalesce();
  const int size = communicator.size();
  const at::Tensor shape = shape_of(mine);
  const at::Tensor shapes = at::empty({size, shape.numel()}, at::kLong);
  communicator.all_gather(elements_of(shape), elements_of(shapes), {}, call);
  std::vector<std::int64_t> entries;
  for (int rank = 0; rank < size; ++rank) {
    const at::Tensor theirs = shapes[rank];
    entries.push_back(theirs[3].item<std::int64_t>());
    const at::Tensor expected = shape.clone();
    expected[3] = entries.back();
    TORCH_CHECK(theirs.equal(expected),
                "sparse tensors of one all-reduce must have the same type and sizes; rank ", rank,
                " has ", listed(theirs), ", rank ", communicator.rank(), " has ", listed(shape),
                " (type, sparse dimensions, dense dimensions, entries, sizes)");
  }
  const auto indices = gather_entries(communicator, mine.indices().t().contiguous(), entries, call);
  const auto values = gather_entries(communicator, mine.values().contiguous(), entries, call);
  at::Tensor sum;
  for (int rank = 0; rank < size; ++rank) {
    const at::Tensor part =
        at::_sparse_coo_tensor_unsafe(indices[rank].t(), values[rank], tensor.sizes(),
                                      values[rank].options().layout(at::kSparse));
    sum = rank == 0 ? part.clone() : sum.add(part);
  }
  tensor.copy_(sum.coalesce());
}

}  // namespace tutti::torch_backend
