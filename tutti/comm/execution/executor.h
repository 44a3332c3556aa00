// Runs plans: the lanes of a plan side by side, each in order, on one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/base/stall_handler.h"
#include "tutti/comm/execution/lane_state.h"
#include "tutti/comm/observe/dimension_times.h"
#include "tutti/comm/transport/shm/host_group.h"
#include "tutti/comm/transport/transport.h"
#include "tutti/comm/transport/vendor.h"
#include "tutti/plan/plan.h"

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
  explicit Executor(const ExecutorContext& parts);
  ~Executor();

  // Runs this rank's plan of the operation; all ranks run theirs. Blocks, on the calling thread.
  // After a failure the communicator cannot be used any more: peers may be in the middle of the
  // operation.
  Result run(const plan::Plan& plan, const Operation& operation, const OpRecord& record);

  // Running the plan takes little library memory beyond the caller's own buffers.
  bool has_room_for(const plan::Plan& plan, const Operation& operation) const;

  // Over all plans since `reset_times`.
  const DimensionTimes& times() const { return times_; }
  void reset_times() { times_ = {}; }

 private:
  Result run_lanes();
  Result advance(LaneState& lane, bool* advanced);
  Result exchange(LaneState& lane, const plan::Step& step, bool* finished);
  Result start_receive(LaneState& lane, const plan::Step& step);
  void fold_arrived(LaneState& lane, const plan::Step& step);
  Result sync(LaneState& lane, const plan::Step& step, bool* finished);
  Result collect(LaneState& lane, const plan::Step& step, bool* finished);
  Result spread(LaneState& lane, const plan::Step& step, bool* finished);
  Result reduce_mapped(const plan::Step& step);
  void reduce_local(const plan::Step& step);
  Result read_mapped(const plan::Step& step);
  Result vendor(LaneState& lane, const plan::Step& step, bool* finished);
  Result pause(std::int64_t idle_since);
  void await_member(const LaneState& lane) const;
  int awaited_rank() const;
  ReduceOp sum_for_average() const;
  ReduceOp fold_op(const plan::Step& step) const;

  Result prepare_memory(const plan::Plan& plan, const Operation& operation, const OpRecord& record);
  std::byte* library_memory(std::size_t slot, std::size_t bytes);
  void release_large_blocks();
  template <class Copy>
  void for_each_piece(const Copy& copy) const;
  void stage_in(const plan::Lane& lane);
  void stage_out(const plan::Lane& lane);
  std::byte* own(const plan::Range& range) const;
  Result window(int rank, plan::Space space, std::byte** base);
  std::size_t bytes_of(const plan::Range& range) const;

  // The member so many places further in the group, round it.
  static int neighbour(const std::vector<int>& group, int rank, int distance);
  Result send_headers(const plan::Plan& plan, const OpRecord& record);
  ExpectedHeader* find_header(int peer);
  Result check_header(int peer, bool* greeted);
  Result finish_headers(bool* finished);

  ExecutorContext parts_;
  std::array<std::uint32_t, kMaxLanes> syncs_passed_{};  // over all operations so far
  DimensionTimes times_;
  // Longer than for flags: other ranks on this core, also of other jobs, send and receive packets
  // between two yields. A process that computes keeps the core for more than a millisecond.
  static constexpr std::int64_t kLongYield = 1'000'000;  // ns
  SpinBackoff backoff_{kLongYield};

  // Of the running operation.
  const plan::Plan* plan_ = nullptr;
  const Operation* operation_ = nullptr;
  const OpRecord* record_ = nullptr;
  std::size_t width_ = 1;
  const std::byte* input_ = nullptr;  // in library memory where peers map it
  std::byte* output_ = nullptr;
  std::byte* scratch_ = nullptr;
  bool stages_input_ = false;
  bool stages_output_ = false;
  std::vector<LaneState> lanes_;
  std::uint64_t events_seen_ = 0;     // of the wire, before lanes were last looked at
  std::vector<const void*> sources_;  // of the fold at hand, as targets_
  std::vector<void*> targets_;
  std::vector<std::unique_ptr<Transfer>> pending_headers_;  // operation headers in flight to peers
  std::vector<std::unique_ptr<ExpectedHeader>> expected_headers_;  // expected from peers

  struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  // Library memory for input, output and scratch. Kept between operations up to this size each: a
  // program that once moved a gigabyte shall not hold a copy of it for ever.
  static constexpr std::size_t kMostKeptBytes = std::size_t{32} << 20;
  std::array<Block, 3> blocks_{};
};

}  // namespace tutti::comm
