#include "tutti/torch_backend/process_group.h"

#include <ATen/ATen.h>

#include <numeric>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/torch_backend/reduction.h"
#include "tutti/torch_backend/shared_memory.h"
#include "tutti/torch_backend/sparse.h"
#include "tutti/torch_backend/tensors.h"
#include "tutti/torch_backend/work.h"

namespace tutti::torch_backend {
namespace {

using c10d::OpType;
using comm::CallOptions;
using comm::Communicator;

// Returns the tensor if it is contiguous, otherwise a contiguous copy.
at::Tensor contiguous(const at::Tensor& tensor) {
  return tensor.contiguous();
}

// Copies the result back if the operation worked on a copy.
void copy_back(const at::Tensor& copy, const at::Tensor& tensor) {
  if (!copy.is_alias_of(tensor)) tensor.copy_(copy);
}

const at::Tensor& only(const char* operation, const std::vector<at::Tensor>& tensors) {
  check_tensors(operation, tensors);
  TORCH_CHECK(tensors.size() == 1, operation, " of the ddl backend takes one tensor, not ",
              tensors.size());
  return tensors[0];
}

// Checks that `list` has one tensor per rank, each with the type and number of elements of `pattern`.
void check_list(const char* operation, const std::vector<at::Tensor>& list, int size,
                const at::Tensor& pattern) {
  check_tensors(operation, list);
  TORCH_CHECK(static_cast<int>(list.size()) == size, operation, " needs a list of ", size,
              " tensors, one per rank, not ", list.size());
  for (const at::Tensor& tensor : list) {
    TORCH_CHECK(tensor.scalar_type() == pattern.scalar_type() && tensor.numel() == pattern.numel(),
                operation, ": all tensors must be alike, but one has ", tensor.numel(),
                " elements of ", tensor.scalar_type(), ", another ", pattern.numel(), " of ",
                pattern.scalar_type());
  }
}

// Checks that `whole` has the elements of `part` of all ranks.
void check_whole(const char* operation, const at::Tensor& whole, const at::Tensor& part, int size) {
  check_tensors(operation, {whole, part});
  TORCH_CHECK(whole.scalar_type() == part.scalar_type() && whole.numel() == part.numel() * size,
              operation, ": the larger tensor must have the type of the other and ", size,
              " times its ", part.numel(), " elements, not ", whole.numel());
}

void check_pairs(const char* operation, const std::vector<at::Tensor>& outputs,
                 const std::vector<at::Tensor>& inputs) {
  TORCH_CHECK(outputs.size() == inputs.size(), operation, " needs as many outputs as inputs, not ",
              outputs.size(), " and ", inputs.size());
  check_tensors(operation, inputs);
}

// The input may be the part of the output that belongs to this rank.
void all_gather_whole(Communicator& communicator, const at::Tensor& input, const at::Tensor& output,
                      const CallOptions& call) {
  const at::Tensor from = contiguous(input);
  const at::Tensor to = contiguous(output);
  communicator.all_gather(elements_of(from), elements_of(to), {}, call);
  copy_back(to, output);
}

// Splits `tensor` along its first dimension into pieces of `splits` rows. Without `splits`: one piece per rank, all
// equal.
std::vector<at::Tensor> split(const char* operation, const at::Tensor& tensor,
                              const std::vector<std::int64_t>& splits, int size) {
  if (splits.empty()) {
    TORCH_CHECK(tensor.dim() > 0 && tensor.size(0) % size == 0, operation,
                ": the first dimension does not divide over ", size, " ranks; give split sizes");
    const std::vector<std::int64_t> equal(static_cast<std::size_t>(size), tensor.size(0) / size);
    return tensor.split_with_sizes(equal);
  }
  TORCH_CHECK(static_cast<int>(splits.size()) == size, operation, " needs ", size,
              " split sizes, one per rank, not ", splits.size());
  return tensor.split_with_sizes(splits);
}

}  // namespace

ProcessGroupDdl::ProcessGroupDdl(std::shared_ptr<Communicator> communicator,
                                 std::chrono::milliseconds timeout)
    : BackendBase(communicator->rank(), communicator->size()),
      communicator_(std::move(communicator)),
      timeout_(timeout) {}

ProcessGroupDdl::~ProcessGroupDdl() {
  shut_down();
}

void ProcessGroupDdl::shut_down() {
  if (!communicator_ || communicator_->is_forked_child()) return;  // the parent owns the threads
  communicator_->queue()->drain();
  communicator_.reset();
}

Communicator& ProcessGroupDdl::alive() const {
  if (communicator_) {
    if (communicator_->is_forked_child()) communicator_->check();  // throws DDL-4-65
    return *communicator_;
  }
  throw CommError(
      "DDL-4-21",
      "This process group was shut down. Create a new one with init_process_group or new_group.");
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::start(OpType type, const char* title, Tensors outputs,
                                                   std::chrono::milliseconds timeout, Body body) {
  alive();
  ++sequence_;
  const auto limit = timeout == c10d::kUnsetTimeout ? timeout_ : timeout;
  // The name of the c10d operation lets comm detect ranks that call different operations.
  CallOptions call{.name = title, .timeout = std::chrono::duration<double>(limit).count()};
  return CollectiveWork::start(
      communicator_->queue(), getRank(), type, title, std::move(outputs),
      [communicator = communicator_, call, body = std::move(body)] { body(*communicator, call); });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::broadcast(Tensors& tensors,
                                                       const c10d::BroadcastOptions& options) {
  const at::Tensor& tensor = only("broadcast", tensors);
  const int root = static_cast<int>(options.rootRank);
  return start(OpType::BROADCAST, "ddl:broadcast", tensors, options.timeout,
               [tensor, root](Communicator& communicator, const CallOptions& call) {
                 const at::Tensor memory = contiguous(tensor);
                 communicator.broadcast(elements_of(memory), root, call);
                 copy_back(memory, tensor);
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::allreduce(Tensors& tensors,
                                                       const c10d::AllreduceOptions& options) {
  TORCH_CHECK(tensors.size() == 1, "allreduce of the ddl backend takes one tensor, not ",
              tensors.size());
  const at::Tensor& tensor = tensors[0];
  if (tensor.layout() == at::kSparse) {
    TORCH_CHECK(options.reduceOp.op_ == c10d::ReduceOp::SUM, "sparse tensors can only be summed");
    TORCH_CHECK(tensor.device().is_cpu(),
                "the ddl backend works on tensors in host memory, not on ", tensor.device());
    return start(OpType::ALLREDUCE, "ddl:all_reduce_sparse", tensors, options.timeout,
                 [tensor](Communicator& communicator, const CallOptions& call) {
                   all_reduce_sparse(communicator, tensor, call);
                 });
  }
  only("allreduce", tensors);
  share_if_private(communicator_.get(), tensor);
  const Reduction reduction(tensor.scalar_type(), options.reduceOp);
  const comm::Codec codec =
      reduction.compresses(communicator_.get(), tensor) ? codec_ : comm::Codec();
  return start(OpType::ALLREDUCE, "ddl:all_reduce", tensors, options.timeout,
               [tensor, reduction, codec](Communicator& communicator, const CallOptions& call) {
                 CallOptions compressed = call;
                 compressed.compression = codec;
                 const at::Tensor memory = contiguous(tensor);
                 reduction.all_reduce(communicator, memory, compressed);
                 copy_back(memory, tensor);
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::average(at::Tensor tensor, const std::string& name,
                                                     const comm::Codec& codec) {
  only("average", {tensor});
  const Reduction reduction(tensor.scalar_type(), c10d::ReduceOp::AVG);
  const bool compresses = reduction.compresses(communicator_.get(), tensor);
  return start(OpType::ALLREDUCE, "ddl:average", {tensor}, c10d::kUnsetTimeout,
               [tensor, name, reduction, codec, compresses](Communicator& communicator,
                                                            const CallOptions& call) {
                 const at::Tensor memory = contiguous(tensor);
                 reduction.all_reduce(communicator, memory,
                                      {.name = name,
                                       .compression = compresses ? codec : comm::Codec(),
                                       .timeout = call.timeout});
                 copy_back(memory, tensor);
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::allreduce_coalesced(
    Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  check_tensors("allreduce_coalesced", tensors);
  for (const at::Tensor& tensor : tensors) {
    TORCH_CHECK(tensor.scalar_type() == tensors[0].scalar_type(),
                "allreduce_coalesced: all tensors must be of one type");
  }
  const Reduction reduction(tensors[0].scalar_type(), options.reduceOp);
  return start(OpType::ALLREDUCE_COALESCED, "ddl:all_reduce_coalesced", tensors, options.timeout,
               [tensors, reduction](Communicator& communicator, const CallOptions& call) {
                 ConcatenatedTensor joined(tensors);
                 joined.copy_in();
                 reduction.all_reduce(communicator, joined.whole(), call);
                 joined.copy_out();
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::reduce(Tensors& tensors,
                                                    const c10d::ReduceOptions& options) {
  const at::Tensor& tensor = only("reduce", tensors);
  const Reduction reduction(tensor.scalar_type(), options.reduceOp);
  const int root = static_cast<int>(options.rootRank);
  return start(OpType::REDUCE, "ddl:reduce", tensors, options.timeout,
               [tensor, reduction, root](Communicator& communicator, const CallOptions& call) {
                 const at::Tensor memory = contiguous(tensor);
                 reduction.reduce(communicator, memory, root, call);
                 if (communicator.rank() == root) copy_back(memory, tensor);
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::start_all_gather(OpType type, const char* title,
                                                              const at::Tensor& input,
                                                              Tensors outputs,
                                                              std::chrono::milliseconds timeout) {
  return start(type, title, outputs, timeout,
               [input, outputs](Communicator& communicator, const CallOptions& call) {
                 ConcatenatedTensor joined(outputs);
                 const at::Tensor memory = contiguous(input);
                 communicator.all_gather(elements_of(memory), elements_of(joined.whole()),
                                         joined.counts(), call);
                 joined.copy_out();
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::allgather(std::vector<Tensors>& outputs,
                                                       Tensors& inputs,
                                                       const c10d::AllgatherOptions& options) {
  const at::Tensor& input = only("allgather", inputs);
  TORCH_CHECK(outputs.size() == 1, "allgather needs one list of outputs, not ", outputs.size());
  check_list("allgather", outputs[0], getSize(), input);
  return start_all_gather(OpType::ALLGATHER, "ddl:all_gather", input, outputs[0], options.timeout);
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::_allgather_base(
    at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) {
  check_whole("_allgather_base", output, input, getSize());
  return start(OpType::_ALLGATHER_BASE, "ddl:all_gather_base", {output}, options.timeout,
               [input, output](Communicator& communicator, const CallOptions& call) {
                 all_gather_whole(communicator, input, output, call);
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::allgather_into_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  constexpr const char* kName = "allgather_into_tensor_coalesced";
  check_pairs(kName, outputs, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_whole(kName, outputs[i], inputs[i], getSize());
  }
  return start(OpType::_ALLGATHER_BASE, "ddl:all_gather_base_coalesced", outputs, options.timeout,
               [inputs, outputs](Communicator& communicator, const CallOptions& call) {
                 for (std::size_t i = 0; i < inputs.size(); ++i) {
                   all_gather_whole(communicator, inputs[i], outputs[i], call);
                 }
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::allgather_coalesced(
    std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  check_tensors("allgather_coalesced", inputs);
  TORCH_CHECK(static_cast<int>(outputs.size()) == getSize(), "allgather_coalesced needs ",
              getSize(), " lists of outputs, one per rank, not ", outputs.size());
  Tensors all;
  for (const Tensors& list : outputs) {
    TORCH_CHECK(list.size() == inputs.size(),
                "allgather_coalesced: every list must be as long as the inputs");
    for (std::size_t i = 0; i < list.size(); ++i) {
      TORCH_CHECK(
          list[i].scalar_type() == inputs[i].scalar_type() && list[i].numel() == inputs[i].numel(),
          "allgather_coalesced: outputs and inputs must be alike");
    }
    all.insert(all.end(), list.begin(), list.end());
  }
  return start(OpType::ALLGATHER_COALESCED, "ddl:all_gather_coalesced", all, options.timeout,
               [inputs, outputs](Communicator& communicator, const CallOptions& call) {
                 for (std::size_t i = 0; i < inputs.size(); ++i) {
                   Tensors of_all;
                   for (const Tensors& list : outputs) of_all.push_back(list[i]);
                   ConcatenatedTensor joined(of_all);
                   const at::Tensor memory = contiguous(inputs[i]);
                   communicator.all_gather(elements_of(memory), elements_of(joined.whole()), {},
                                           call);
                   joined.copy_out();
                 }
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                                    const c10d::GatherOptions& options) {
  const at::Tensor& input = only("gather", inputs);
  const int root = static_cast<int>(options.rootRank);
  const bool is_root = getRank() == root;
  TORCH_CHECK(outputs.size() == (is_root ? 1 : 0),
              "gather needs one list of outputs on the root, and none elsewhere");
  if (is_root) check_list("gather", outputs[0], getSize(), input);
  const Tensors list = is_root ? outputs[0] : Tensors();
  return start(OpType::GATHER, "ddl:gather", list, options.timeout,
               [input, list, root](Communicator& communicator, const CallOptions& call) {
                 const at::Tensor memory = contiguous(input);
                 const Buffer mine = elements_of(memory);
                 if (list.empty())
                   return communicator.gather(mine, {nullptr, 0, mine.dtype}, root, {}, call);
                 ConcatenatedTensor joined(list);
                 communicator.gather(mine, elements_of(joined.whole()), root, {}, call);
                 joined.copy_out();
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                                     const c10d::ScatterOptions& options) {
  const at::Tensor& output = only("scatter", outputs);
  const int root = static_cast<int>(options.rootRank);
  const bool is_root = getRank() == root;
  TORCH_CHECK(inputs.size() == (is_root ? 1 : 0),
              "scatter needs one list of inputs on the root, and none elsewhere");
  if (is_root) check_list("scatter", inputs[0], getSize(), output);
  const Tensors list = is_root ? inputs[0] : Tensors();
  return start(OpType::SCATTER, "ddl:scatter", outputs, options.timeout,
               [output, list, root](Communicator& communicator, const CallOptions& call) {
                 const at::Tensor memory = contiguous(output);
                 const Buffer mine = elements_of(memory);
                 if (list.empty()) {
                   communicator.scatter({nullptr, 0, mine.dtype}, mine, root, {}, call);
                 } else {
                   ConcatenatedTensor joined(list);
                   joined.copy_in();
                   communicator.scatter(elements_of(joined.whole()), mine, root, {}, call);
                 }
                 copy_back(memory, output);
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::start_reduce_scatter(
    OpType type, const char* title, std::vector<Tensors> inputs, const Tensors& outputs,
    const c10d::ReduceScatterOptions& options) {
  std::vector<Reduction> reductions;
  for (const at::Tensor& output : outputs) {
    reductions.emplace_back(output.scalar_type(), options.reduceOp);
  }
  return start(type, title, outputs, options.timeout,
               [inputs = std::move(inputs), outputs, reductions](Communicator& communicator,
                                                                 const CallOptions& call) {
                 for (std::size_t i = 0; i < outputs.size(); ++i) {
                   ConcatenatedTensor joined(inputs[i]);
                   joined.copy_in();
                   const std::vector<std::int64_t> counts(inputs[i].size(), outputs[i].numel());
                   const at::Tensor memory = contiguous(outputs[i]);
                   reductions[i].reduce_scatter(communicator, joined.whole(), memory, counts, call);
                   copy_back(memory, outputs[i]);
                 }
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::reduce_scatter(
    Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) {
  const at::Tensor& output = only("reduce_scatter", outputs);
  TORCH_CHECK(inputs.size() == 1, "reduce_scatter needs one list of inputs, not ", inputs.size());
  check_list("reduce_scatter", inputs[0], getSize(), output);
  return start_reduce_scatter(OpType::REDUCE_SCATTER, "ddl:reduce_scatter", inputs, outputs,
                              options);
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
  check_whole("_reduce_scatter_base", input, output, getSize());
  const at::Tensor rows = input.reshape({getSize(), output.numel()});
  return start_reduce_scatter(OpType::_REDUCE_SCATTER_BASE, "ddl:reduce_scatter_base",
                              {rows.unbind(0)}, {output}, options);
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) {
  constexpr const char* kName = "reduce_scatter_tensor_coalesced";
  check_pairs(kName, outputs, inputs);
  std::vector<Tensors> rows;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_whole(kName, inputs[i], outputs[i], getSize());
    rows.push_back(inputs[i].reshape({getSize(), outputs[i].numel()}).unbind(0));
  }
  return start_reduce_scatter(OpType::_REDUCE_SCATTER_BASE, "ddl:reduce_scatter_base_coalesced",
                              std::move(rows), outputs, options);
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::start_all_to_all(OpType type, const char* title,
                                                              Tensors inputs, Tensors outputs,
                                                              std::chrono::milliseconds timeout) {
  check_tensors(title, inputs);
  check_tensors(title, outputs);
  return start(type, title, outputs, timeout,
               [inputs, outputs](Communicator& communicator, const CallOptions& call) {
                 ConcatenatedTensor from(inputs);
                 ConcatenatedTensor to(outputs);
                 from.copy_in();
                 communicator.all_to_all(elements_of(from.whole()), elements_of(to.whole()),
                                         from.counts(), to.counts(), call);
                 to.copy_out();
               });
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::alltoall(Tensors& outputs, Tensors& inputs,
                                                      const c10d::AllToAllOptions& options) {
  TORCH_CHECK(
      static_cast<int>(inputs.size()) == getSize() && static_cast<int>(outputs.size()) == getSize(),
      "alltoall needs ", getSize(), " inputs and outputs, one per rank, not ", inputs.size(),
      " and ", outputs.size());
  return start_all_to_all(OpType::ALLTOALL, "ddl:all_to_all", inputs, outputs, options.timeout);
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                           std::vector<std::int64_t>& output_splits,
                                                           std::vector<std::int64_t>& input_splits,
                                                           const c10d::AllToAllOptions& options) {
  return start_all_to_all(OpType::ALLTOALL_BASE, "ddl:all_to_all_base",
                          split("alltoall_base", input, input_splits, getSize()),
                          split("alltoall_base", output, output_splits, getSize()),
                          options.timeout);
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::send(Tensors& tensors, int peer, int tag) {
  const at::Tensor memory = contiguous(only("send", tensors));
  auto work = c10::make_intrusive<MessageWork>(getRank(), OpType::SEND, memory);
  work->begin(alive().send_async(elements_of(memory), peer, tag));
  return work;
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::recv(Tensors& tensors, int peer, int tag) {
  const at::Tensor& target = only("recv", tensors);
  const at::Tensor memory =
      target.is_contiguous() ? target : at::empty(target.sizes(), target.options());
  auto work = c10::make_intrusive<MessageWork>(peer, OpType::RECV, memory);
  work->begin(alive().receive_async(elements_of(memory), peer, tag),
              memory.is_same(target) ? at::Tensor() : target);
  return work;
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::recvAnysource(Tensors& tensors, int tag) {
  const at::Tensor& target = only("recvAnysource", tensors);
  const at::Tensor memory =
      target.is_contiguous() ? target : at::empty(target.sizes(), target.options());
  auto work = c10::make_intrusive<MessageWork>(-1, OpType::RECVANYSOURCE, memory);
  work->begin(alive().receive_any_async(elements_of(memory), work->source(), tag),
              memory.is_same(target) ? at::Tensor() : target);
  return work;
}

ProcessGroupDdl::WorkHandle ProcessGroupDdl::barrier(const c10d::BarrierOptions& options) {
  return start(
      OpType::BARRIER, "ddl:barrier", {}, options.timeout,
      [](Communicator& communicator, const CallOptions& call) { communicator.barrier(call); });
}

void ProcessGroupDdl::monitoredBarrier(const c10d::BarrierOptions& options,
                                       bool /*wait_all_ranks*/) {
  barrier(options)->wait();
}

}  // namespace tutti::torch_backend
