#include "tutti/fusion/call.h"

#include <algorithm>
#include <numeric>

#include "tutti/comm/base/require.h"

namespace tutti::fusion {
namespace {

void check_rows(const Call& call, std::size_t t) {
  const std::int64_t rows =
      call.kind == Kind::kAllToAll
          ? std::accumulate(call.rows.begin(), call.rows.end(), std::int64_t{0})
          : call.rows[t];
  comm::require(std::ranges::all_of(call.rows, [](std::int64_t n) { return n >= 0; }) &&
                    rows * call.row_elements[t] == call.tensors[t].input.count,
                "Tensor '{}' has {} elements, which are not {} rows of {}.", call.name,
                call.tensors[t].input.count, rows, call.row_elements[t]);
}

}  // namespace

std::int64_t rows_of_rank(std::int64_t rows, int rank, int size) {
  return rows / size + (rank < rows % size ? 1 : 0);
}

Signature signature_of(const Call& call, int size) {
  const bool moves_nothing = call.kind == Kind::kBarrier || call.kind == Kind::kTimeline;
  comm::require(!call.name.empty(), "A tensor of the fusion engine needs a name.");
  comm::require(moves_nothing || !call.tensors.empty(), "The group '{}' has no tensor.", call.name);
  Signature signature{.kind = call.kind,
                      .op = call.op,
                      .root = call.root,
                      .prescale = call.prescale,
                      .postscale = call.postscale,
                      .compression = call.compression.text(),
                      .shape = call.shape,
                      .no_fusion = call.no_fusion};
  if (moves_nothing) return signature;
  signature.dtype = call.tensors[0].input.dtype;
  const bool has_rows = call.kind == Kind::kAllGather || call.kind == Kind::kReduceScatter ||
                        call.kind == Kind::kAllToAll;
  const auto ranks = static_cast<std::size_t>(size);
  comm::require(!has_rows || (call.row_elements.size() == call.tensors.size() &&
                              call.rows.size() ==
                                  (call.kind == Kind::kAllToAll ? ranks : call.tensors.size())),
                "Tensor '{}': give rows and their elements for each {}.", call.name,
                call.kind == Kind::kAllToAll ? "rank" : "tensor");
  for (std::size_t t = 0; t < call.tensors.size(); ++t) {
    const auto& [input, output] = call.tensors[t];
    comm::require(input.dtype == signature.dtype, "The group '{}' has tensors of several types.",
                  call.name);
    if (has_rows) check_rows(call, t);
    if (call.kind != Kind::kAllGather && call.kind != Kind::kAllToAll)
      signature.counts.push_back(input.count);
    if (has_rows) signature.counts.push_back(call.row_elements[t]);
    comm::require(has_rows || (output.count == input.count && output.dtype == input.dtype),
                  "Tensor '{}': the output must have the input's type and {} elements.", call.name,
                  input.count);
  }
  comm::require(call.kind != Kind::kBroadcast || (call.root >= 0 && call.root < size),
                "Tensor '{}': invalid root {}; ranks are 0 to {}.", call.name, call.root, size - 1);
  comm::require(call.kind != Kind::kAdasum || is_floating(signature.dtype),
                "Tensor '{}': adasum works for floating types.", call.name);
  comm::require(call.compression.kind() == comm::Compression::kNone ||
                    (call.kind == Kind::kAllReduce && signature.dtype == DType::kF32 &&
                     (call.op == ReduceOp::kSum || call.op == ReduceOp::kAverage)),
                "Tensor '{}': compression works for all_reduce of f32 with sum or average.",
                call.name);
  return signature;
}

}  // namespace tutti::fusion
