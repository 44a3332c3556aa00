// Runs plans: the lanes of a plan side by side, each in order, on one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/comm/base/stall_handler.h"
#include "tutti/comm/execution/host_steps.h"
#include "tutti/comm/execution/wire_steps.h"
#include "tutti/comm/observe/dimension_times.h"
#include "tutti/comm/transport/shm/host_all_reduce.h"

namespace tutti::comm {

// What one rank needs to run plans; all must outlive the executor.
struct ExecutorContext {
  int rank = 0;          // of the communicator, whose ranks the plans name
  Wire* wire = nullptr;  // peers are ranks of the communicator
  HostGroup* host = nullptr;
  Arena* arena = nullptr;
  StallHandler* stall_handler = nullptr;
  VendorCollectives* vendor = nullptr;    // may be absent
  std::vector<int> transport_ranks = {};  // of the ranks of the communicator, for the vendor
};

class Executor {
 public:
  explicit Executor(const ExecutorContext& context);

  // Runs this rank's plan of the operation; all ranks run theirs. Blocks, on the calling thread.
  // After a failure the communicator cannot be used any more: peers may be in the middle of the
  // operation.
  Result run(const plan::Plan& plan, const Operation& operation, const OpRecord& record) {
    // Lanes, headers and clocks would take longer than a small vector does.
    if (const plan::Step* step = plan.host_all_reduce()) [[likely]]
      return all_reduce_.run(*step, operation, record);
    return run_lanes(plan, operation, record);
  }
  // The row that the last plan of one kHostAllReduce ran.
  const char* last_host_row() const { return all_reduce_.last_row(); }

  // Running the plan takes little library memory beyond the caller's own buffers.
  bool has_room_for(const plan::Plan& plan, const Operation& operation) const {
    return running_.memory.has_room_for(plan, operation);
  }

  // Over all plans since `reset_times`, but those of one kHostAllReduce.
  const DimensionTimes& times() const { return times_; }
  void reset_times() { times_ = {}; }

 private:
  Result run_lanes(const plan::Plan& plan, const Operation& operation, const OpRecord& record);
  Result advance_lanes();
  Result advance(LaneState& lane, bool* advanced);
  Result run_step(LaneState& lane, const plan::Step& step, bool* finished);
  void reduce_local(const plan::Step& step) const;
  Result pause(std::int64_t idle_since);
  int awaited_rank() const;

  Wire& wire_;
  StallHandler& stall_handler_;
  RunningOperation running_;
  HostSlots slots_;
  HostAllReduce all_reduce_;
  Handshakes handshakes_;
  HostSteps host_steps_;
  WireSteps wire_steps_;
  DimensionTimes times_;
  // Longer than for flags: other ranks on this core, also of other jobs, send and receive packets
  // between two yields. A process that computes keeps the core for more than a millisecond.
  static constexpr std::int64_t kLongYield = 1'000'000;  // ns
  SpinBackoff backoff_{kLongYield};
  std::vector<LaneState> lanes_;
  std::uint64_t events_seen_ = 0;  // of the wire, before lanes were last looked at
};

}  // namespace tutti::comm
