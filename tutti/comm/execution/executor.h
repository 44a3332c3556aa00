// Execution of plans: runs the lanes of a plan concurrently, each in order, on one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/comm/base/stall_handler.h"
#include "tutti/comm/execution/host_steps.h"
#include "tutti/comm/execution/wire_steps.h"
#include "tutti/comm/observe/dimension_times.h"
#include "tutti/comm/transport/shm/host_all_reduce.h"

namespace tutti::comm {

// Resources of one rank that plans need. All must outlive the executor.
struct ExecutorContext {
  int rank = 0;          // rank in the communicator; plans use these ranks
  Wire* wire = nullptr;  // peers are ranks of the communicator
  HostGroup* host = nullptr;
  Arena* arena = nullptr;
  StallHandler* stall_handler = nullptr;
  VendorCollectives* vendor = nullptr;    // may be nullptr
  std::vector<int> transport_ranks = {};  // transport rank of each rank; for `vendor`
};

class Executor {
 public:
  explicit Executor(const ExecutorContext& context);

  // Runs this rank's plan of the operation; all ranks run theirs. Blocks the calling thread. After a failure the
  // communicator is unusable, because peers may be in the middle of the operation.
  Result run(const plan::Plan& plan, const Operation& operation, const OpRecord& record) {
    // Lanes, headers and timing would take longer than the reduction of a small vector.
    if (const plan::Step* step = plan.host_all_reduce()) [[likely]]
      return all_reduce_.run(*step, operation, record);
    return run_lanes(plan, operation, record);
  }
  // Name of the algorithm of the last plan that was a kHostAllReduce.
  const char* last_host_row() const { return all_reduce_.last_row(); }

  // True if running the plan needs little library memory in addition to the caller's buffers.
  bool has_room_for(const plan::Plan& plan, const Operation& operation) const {
    return running_.memory.has_room_for(plan, operation);
  }

  // Times of all plans since `reset_times`, except those of kHostAllReduce.
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
  // Longer than for flags, because other ranks on this core send and receive packets between two yields. A process that
  // computes keeps the core for more than a millisecond.
  static constexpr std::int64_t kLongYield = 1'000'000;  // ns
  SpinBackoff backoff_{kLongYield};
  std::vector<LaneState> lanes_;
  std::uint64_t events_seen_ = 0;  // events of the wire before the last pass over the lanes
};

}  // namespace tutti::comm
