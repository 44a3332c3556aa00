// Steps of a plan between ranks of one host, through mapped memory and shared slots.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tutti/comm/execution/lane_state.h"
#include "tutti/comm/execution/running_operation.h"
#include "tutti/comm/transport/shm/host_slots.h"
#include "tutti/comm/transport/shm/host_windows.h"

namespace tutti::comm {

// Each call proceeds as far as possible without waiting and sets `*finished` to false if peers are missing.
class HostSteps {
 public:
  // All arguments must outlive this object. `rank`: this rank in the communicator.
  HostSteps(HostGroup& host, HostSlots& slots, const RunningOperation& running, int rank)
      : host_(host), slots_(slots), windows_(host), running_(running), rank_(rank) {}

  // Publishes the memory of the running operation to the peers.
  void open_windows();
  // Marks the end of the lane's operation.
  void end(const LaneState& lane) {
    barriers_passed_[static_cast<std::size_t>(lane.index)] += lane.barriers;
  }

  Result host_barrier(LaneState& lane, const plan::Step& step, bool* finished);
  Result leader_reduce(LaneState& lane, const plan::Step& step, bool* finished);
  Result leader_broadcast(LaneState& lane, const plan::Step& step, bool* finished);
  Result reduce_mapped(const plan::Step& step);
  Result read_mapped(const plan::Step& step);

  // The rank that was missing last, over all operations; -1: none.
  int awaited_rank() const { return awaited_rank_; }
  // Sleeps until that rank may have reached the step of the lane, at most one interval of the stall handler.
  void await(const LaneState& lane);

 private:
  Result window(int rank, plan::Space space, std::byte** base);

  HostGroup& host_;
  HostSlots& slots_;
  HostWindows windows_;
  const RunningOperation& running_;
  const int rank_;
  std::array<std::uint32_t, kMaxLanes> barriers_passed_{};  // per lane, over all operations
  int awaited_rank_ = -1;
  std::vector<const void*> sources_;  // operands of the current reduction, like targets_
  std::vector<void*> targets_;
};

}  // namespace tutti::comm
