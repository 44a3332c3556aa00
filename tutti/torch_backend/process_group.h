// The process group `ddl` of torch.distributed: every collective of c10d on a communicator.
//
// Tensors lie in host memory. All types are moved; reduction.h says which are reduced, and how.
// Tensors that are not contiguous go through contiguous copies. Operations run in the order they
// were given, see work.h; what fails throws tutti::Error's text when it is waited for, and so does
// everything after it. Calls may come from any thread, one at a time.
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

  // `timeout`: of operations that are not given one of their own.
  ProcessGroupDdl(std::shared_ptr<comm::Communicator> communicator,
                  std::chrono::milliseconds timeout);
  ~ProcessGroupDdl() override;
  // Finishes what was given and leaves. Later calls throw. Not while another call runs.
  void shut_down();

  const std::string getBackendName() const override { return "ddl"; }
  const std::shared_ptr<comm::Communicator>& communicator() const { return communicator_; }

  // What travels between hosts of f32 sums and averages, see comm/compression.h.
  void set_compression(const comm::Codec& codec) { codec_ = codec; }
  // An average that names its tensor: for hooks that reduce buckets. `codec` as above.
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
  WorkHandle gather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::GatherOptions& options) override;
  WorkHandle scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                     const c10d::ScatterOptions& options) override;
  WorkHandle reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                            const c10d::ReduceScatterOptions& options) override;
  WorkHandle _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                  const c10d::ReduceScatterOptions& options) override;
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
  // The communicator names who is missing by itself.
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return sequence_; }

 private:
  using Body = std::function<void(comm::Communicator&, const comm::CallOptions&)>;
  // Puts the body in the queue.
  WorkHandle start(c10d::OpType type, const char* title, Tensors outputs,
                   std::chrono::milliseconds timeout, Body body);
  WorkHandle start_all_gather(c10d::OpType type, const char* title, const at::Tensor& input,
                              Tensors outputs, std::chrono::milliseconds timeout);
  WorkHandle start_reduce_scatter(c10d::OpType type, const char* title, Tensors inputs,
                                  const at::Tensor& output,
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
