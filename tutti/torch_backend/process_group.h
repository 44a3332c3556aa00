// The process group `ddl` of torch.distributed: all collectives of c10d on a communicator.
//
// Path of a call: each collective captures its tensors in a body and appends it to the work queue of the communicator
// (`start`), then returns a CollectiveWork. The queue runs the bodies in order of submission, on its thread or on the
// thread that calls wait(); see work.h. A body makes non-contiguous tensors contiguous, calls the communicator and
// copies the result back. Messages (send, recv) bypass the queue.
//
// Tensors must be in host memory. Collectives that move data accept all types; reduction.h lists the types that can be
// reduced. If an operation fails, wait() throws its error, and so does every later operation. Calls may come from any
// thread, but only one at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/torch_backend/compat.h"

namespace tutti::torch_backend {

class ProcessGroupDdl : public BackendBase {
 public:
  using Tensors = std::vector<at::Tensor>;
  using WorkHandle = c10::intrusive_ptr<c10d::Work>;

  // `timeout`: default for operations without an explicit timeout.
  ProcessGroupDdl(std::shared_ptr<comm::Communicator> communicator,
                  std::chrono::milliseconds timeout);
  ~ProcessGroupDdl() override;
  // Completes all submitted operations and leaves the group. Later calls throw. Must not run concurrently with other
  // calls.
  void shut_down();

  const std::string getBackendName() const override { return "ddl"; }
  const std::shared_ptr<comm::Communicator>& communicator() const { return communicator_; }

  // Compression of f32 sums and averages between hosts; see comm/compression.h.
  void set_compression(const comm::Codec& codec) { codec_ = codec; }
  // Average with a tensor name, for communication hooks that reduce buckets. `codec`: as above.
  WorkHandle average(at::Tensor tensor, const std::string& name, const comm::Codec& codec);

  WorkHandle broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkHandle allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkHandle allreduce_coalesced(Tensors& tensors,
                                 const c10d::AllreduceCoalescedOptions& options) override;
  WorkHandle reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkHandle allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                       const c10d::AllgatherOptions& options) override;
  WorkHandle _allgather_base(at::Tensor& output, at::Tensor& input,
                             const c10d::AllgatherOptions& options) override;
  WorkHandle allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                 const c10d::AllgatherOptions& options) override;
  WorkHandle allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                             const c10d::AllgatherOptions& options)
      TUTTI_OVERRIDE_SINCE_2;
  WorkHandle gather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::GatherOptions& options) override;
  WorkHandle scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                     const c10d::ScatterOptions& options) override;
  WorkHandle reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                            const c10d::ReduceScatterOptions& options) override;
  WorkHandle _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                  const c10d::ReduceScatterOptions& options) override;
  WorkHandle reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                             const c10d::ReduceScatterOptions& options)
      TUTTI_OVERRIDE_SINCE_2;
  WorkHandle alltoall(Tensors& outputs, Tensors& inputs,
                      const c10d::AllToAllOptions& options) override;
  WorkHandle alltoall_base(at::Tensor& output, at::Tensor& input,
                           std::vector<std::int64_t>& output_splits,
                           std::vector<std::int64_t>& input_splits,
                           const c10d::AllToAllOptions& options) override;
  WorkHandle send(Tensors& tensors, int peer, int tag) override;
  WorkHandle recv(Tensors& tensors, int peer, int tag) override;
  WorkHandle recvAnysource(Tensors& tensors, int tag) override;
  WorkHandle barrier(const c10d::BarrierOptions& options) override;
  // The communicator names missing ranks in its own error message.
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return sequence_; }

 private:
  using Body = std::function<void(comm::Communicator&, const comm::CallOptions&)>;
  // Appends the body to the queue.
  WorkHandle start(c10d::OpType type, const char* title, Tensors outputs,
                   std::chrono::milliseconds timeout, Body body);
  WorkHandle start_all_gather(c10d::OpType type, const char* title, const at::Tensor& input,
                              Tensors outputs, std::chrono::milliseconds timeout);
  // `inputs`: for each output, one tensor per rank.
  WorkHandle start_reduce_scatter(c10d::OpType type, const char* title, std::vector<Tensors> inputs,
                                  const Tensors& outputs,
                                  const c10d::ReduceScatterOptions& options);
  WorkHandle start_all_to_all(c10d::OpType type, const char* title, Tensors inputs, Tensors outputs,
                              std::chrono::milliseconds timeout);
  comm::Communicator& alive() const;

  std::shared_ptr<comm::Communicator> communicator_;
  const std::chrono::milliseconds timeout_;
  comm::Codec codec_;
  std::uint64_t sequence_ = 0;
};

}  // namespace tutti::torch_backend
