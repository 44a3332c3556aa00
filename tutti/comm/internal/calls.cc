#include "tutti/comm/internal/calls.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tutti/core/error.h"

namespace tutti::comm {

using plan::Collective;

namespace {

std::vector<std::int64_t> equal_or(Counts counts, std::int64_t each, int size) {
  if (counts.empty()) return std::vector<std::int64_t>(static_cast<std::size_t>(size), each);
  require(static_cast<int>(counts.size()) == size,
          "{} counts given for {} ranks. Give one count per rank.", counts.size(), size);
  require(std::all_of(counts.begin(), counts.end(), [](std::int64_t c) { return c >= 0; }),
          "A count is negative. Counts are numbers of elements, 0 or more.");
  return {counts.begin(), counts.end()};
}

std::int64_t total(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

void require_count(const char* what, std::int64_t has, std::int64_t needs) {
  require(has == needs, "The {} has {} elements, but the counts need {}.", what, has, needs);
}

void require_same_type(const ConstBuffer& input, const ConstBuffer& output) {
  require(input.dtype == output.dtype,
          "The input is {} and the output {}; both must be of one type.", name_of(input.dtype),
          name_of(output.dtype));
}

int checked_root(Caller caller, int root) {
  require(root >= 0 && root < caller.size, "Invalid root {}; ranks are 0 to {}.", root,
          caller.size - 1);
  return root;
}

Operation make(Collective collective, const ConstBuffer& input, const Buffer& output,
               const CallOptions& call) {
  Operation operation;
  operation.collective = collective;
  operation.dtype = input.dtype;
  operation.input = input.data;
  operation.output = output.data;
  operation.name = call.name;
  operation.timeout = call.timeout;
  return operation;
}

}  // namespace

Operation all_reduce_of(ConstBuffer input, Buffer output, ReduceOp op, const CallOptions& call) {
  require_same_type(input, output);
  require_count("output", output.count, input.count);
  Operation operation = make(Collective::kAllReduce, input, output, call);
  operation.count = input.count;
  operation.op = op;
  return operation;
}

Operation reduce_scatter_of(Caller caller, ConstBuffer input, Buffer output, ReduceOp op,
                            Counts counts, const CallOptions& call) {
  require_same_type(input, output);
  Operation operation = make(Collective::kReduceScatter, input, output, call);
  operation.counts = equal_or(counts, output.count, caller.size);
  operation.op = op;
  require_count("input", input.count, total(operation.counts));
  require_count("output", output.count, operation.counts[caller.rank]);
  return operation;
}

Operation all_gather_of(Caller caller, ConstBuffer input, Buffer output, Counts counts,
                        const CallOptions& call) {
  require_same_type(input, output);
  Operation operation = make(Collective::kAllGather, input, output, call);
  operation.counts = equal_or(counts, input.count, caller.size);
  require_count("input", input.count, operation.counts[caller.rank]);
  require_count("output", output.count, total(operation.counts));
  return operation;
}

Operation broadcast_of(Caller caller, Buffer buffer, int root, const CallOptions& call) {
  Operation operation = make(Collective::kBroadcast, buffer, buffer, call);
  operation.count = buffer.count;
  operation.root = checked_root(caller, root);
  return operation;
}

Operation reduce_of(Caller caller, ConstBuffer input, Buffer output, ReduceOp op, int root,
                    const CallOptions& call) {
  Operation operation = make(Collective::kReduce, input, output, call);
  operation.count = input.count;
  operation.op = op;
  operation.root = checked_root(caller, root);
  if (caller.rank == root) {
    require_same_type(input, output);
    require_count("output", output.count, input.count);
  }
  return operation;
}

Operation gather_of(Caller caller, ConstBuffer input, Buffer output, int root, Counts counts,
                    const CallOptions& call) {
  Operation operation = make(Collective::kGather, input, output, call);
  operation.counts = equal_or(counts, input.count, caller.size);
  operation.root = checked_root(caller, root);
  require_count("input", input.count, operation.counts[caller.rank]);
  if (caller.rank == root) {
    require_same_type(input, output);
    require_count("output", output.count, total(operation.counts));
  }
  return operation;
}

Operation scatter_of(Caller caller, ConstBuffer input, Buffer output, int root, Counts counts,
                     const CallOptions& call) {
  Operation operation = make(Collective::kScatter, input, output, call);
  operation.dtype = output.dtype;
  operation.counts = equal_or(counts, output.count, caller.size);
  operation.root = checked_root(caller, root);
  require_count("output", output.count, operation.counts[caller.rank]);
  if (caller.rank == root) {
    require_same_type(input, output);
    require_count("input", input.count, total(operation.counts));
  }
  return operation;
}

Operation all_to_all_of(Caller caller, ConstBuffer input, Buffer output, Counts send_counts,
                        Counts receive_counts, const CallOptions& call) {
  require_same_type(input, output);
  require(send_counts.empty() == receive_counts.empty(),
          "Give both send_counts and receive_counts, or neither.");
  Operation operation = make(Collective::kAllToAll, input, output, call);
  if (send_counts.empty()) {
    require(input.count % caller.size == 0,
            "{} elements do not divide over {} ranks. Give send_counts and receive_counts.",
            input.count, caller.size);
    require_count("output", output.count, input.count);
    operation.count = input.count / caller.size;
    return operation;
  }
  operation.send_counts = equal_or(send_counts, 0, caller.size);
  operation.receive_counts = equal_or(receive_counts, 0, caller.size);
  require_count("input", input.count, total(operation.send_counts));
  require_count("output", output.count, total(operation.receive_counts));
  const std::int64_t gives = operation.send_counts[caller.rank];
  const std::int64_t takes = operation.receive_counts[caller.rank];
  require(gives == takes, "Rank {} sends {} elements to itself, but expects {} from itself.",
          caller.rank, gives, takes);
  return operation;
}

Operation barrier_of(const CallOptions& call) {
  return make(Collective::kBarrier, {nullptr, 0, DType::kU8}, {nullptr, 0, DType::kU8}, call);
}

}  // namespace tutti::comm
