// Steps of a plan between ranks of one host: through mapped memory and slots.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tutti/comm/execution/lane_state.h"
#include "tutti/comm/execution/running_operation.h"
#include "tutti/comm/transport/shm/host_slots.h"
#include "tutti/comm/transport/shm/host_windows.h"

namespace tutti::comm {

// Each call works as far as it can without waiting; `*finished` becomes false where peers are
// missing.
class HostSteps {
 public:
  // All must outlive this. `rank` is this one, of the communicator.
  HostSteps(HostGroup& host, HostSlots& slots, const RunningOperation& running, int rank)
      : host_(host), slots_(slots), windows_(host), running_(running), rank_(rank) {}

  // Shows peers the memory of the running operation.
  void open_windows();
  // The lane's operation is over.
  void end(const LaneState& lane) {
    barriers_passed_[static_cast<std::size_t>(lane.index)] += lane.barriers;
  }

  Result host_barrier(LaneState& lane, const plan::Step& step, bool* finished);
  Result leader_reduce(LaneState& lane, const plan::Step& step, bool* finished);
  Result leader_broadcast(LaneState& lane, const plan::Step& step, bool* finished);
  Result reduce_mapped(const plan::Step& step);
  Result read_mapped(const plan::Step& step);

  // The rank that was missing last, of all operations so far; -1: none.
  int awaited_rank() const { return awaited_rank_; }
  // Sleeps until it may have come to the lane's step, at most one interval of the stall handler.
  void await(const LaneState& lane);

 private:
  Result window(int rank, plan::Space space, std::byte** base);

  HostGroup& host_;
  HostSlots& slots_;
  HostWindows windows_;
  const RunningOperation& running_;
  const int rank_;
  std::array<std::uint32_t, kMaxLanes> barriers_passed_{};  // over all operations so far
  int awaited_rank_ = -1;
  std::vector<const void*> sources_;  // of the fold at hand, as targets_
  std::vector<void*> targets_;
};

}  // namespace tutti::comm
