#include "tutti/comm/execution/executor.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "tutti/core/clock.h"

// Path of an operation that needs lanes:
//
// 1. Memory that peers map but cannot access is replaced by library memory (OperationMemory), and the addresses are
//    published to the ranks of the host (HostWindows).
// 2. Operation headers are sent to the peers of the plan (Handshakes).
// 3. Every lane is a sequence of steps with its own position. The loop visits the lanes in order and tries to complete
//    the next step of each, without waiting. A step that needs a peer which is not ready stays unfinished and is tried
//    again.
// 4. If no lane advances, the thread pauses: it spins and yields, then sleeps until a flag or a message arrives. After
//    one interval of the stall handler, each pause asks it whether to continue.
// 5. The operation is complete when all lanes are finished and all headers have been sent.
//
// A lane copies its input into library memory before its first step, and its output back after its last one, so these
// copies overlap with the network transfers of other lanes.
namespace tutti::comm {

using plan::StepKind;

Executor::Executor(const ExecutorContext& context)
    : wire_(*context.wire),
      stall_handler_(*context.stall_handler),
      running_{.memory = OperationMemory(*context.arena)},
      slots_(*context.host),
      all_reduce_(*context.host, slots_),
      handshakes_(wire_, context.rank),
      host_steps_(*context.host, slots_, running_, context.rank),
      wire_steps_(wire_, handshakes_, context.vendor, context.transport_ranks, running_) {}

Result Executor::run_lanes(const plan::Plan& plan, const Operation& operation,
                           const OpRecord& record) {
  running_.plan = &plan;
  running_.operation = &operation;
  running_.record = &record;
  if (running_.memory.prepare(plan, operation)) host_steps_.open_windows();
  handshakes_.start(plan, record);
  lanes_.resize(std::max(lanes_.size(), plan.lanes.size()));
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    LaneState& state = lanes_[i];
    state.lane = &plan.lanes[i];
    state.index = static_cast<int>(i);
    state.next_step = state.barriers = 0;
    state.step_started = state.receive_started = false;
  }
  Result outcome = advance_lanes();
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    lanes_[i].sending.reset();
    lanes_[i].receiving.reset();
    host_steps_.end(lanes_[i]);
  }
  handshakes_.clear();
  if (outcome) running_.memory.release_large_blocks();
  return outcome;
}

// Earlier lanes have priority: after every step that took time the search restarts at lane 0, so the network transfer
// of the first chunk is in flight before the second chunk is reduced in memory.
Result Executor::advance_lanes() {
  std::int64_t idle_since = 0;  // 0: making progress
  for (;;) {
    bool all_finished = true;
    bool advanced = false;
    events_seen_ = wire_.events();
    for (std::size_t i = 0; i < running_.plan->lanes.size() && !advanced; ++i) {
      if (lanes_[i].is_finished()) continue;
      Result step = advance(lanes_[i], &advanced);
      if (!step) return step;
      all_finished &= lanes_[i].is_finished();
    }
    // Headers precede the data on the same connection, so their transfers are tested only at the end.
    if (all_finished && !advanced) {
      bool agreed = true;
      Result sent = handshakes_.finish(&agreed);
      if (!sent || agreed) return sent;
    }
    if (advanced) {
      idle_since = 0;
      continue;
    }
    if (idle_since == 0) idle_since = now_ns();
    Result patient = pause(idle_since);
    if (!patient) return patient;
  }
}

// Runs the next step of the lane as far as possible without waiting.
Result Executor::advance(LaneState& lane, bool* advanced) {
  const plan::Step& step = lane.step();
  bool finished = true;
  if (!lane.step_started) lane.step_start_ns = now_ns();
  if (!lane.step_started && lane.next_step == 0) running_.memory.stage_in(*lane.lane);
  Result outcome = run_step(lane, step, &finished);
  if (!outcome || !finished) return outcome;
  times_.nanoseconds[static_cast<std::size_t>(step.dimension) % times_.nanoseconds.size()] +=
      now_ns() - lane.step_start_ns;
  lane.step_started = false;
  lane.receive_started = false;
  *advanced = true;
  if (++lane.next_step == lane.lane->steps.size()) running_.memory.stage_out(*lane.lane);
  return outcome;
}

Result Executor::run_step(LaneState& lane, const plan::Step& step, bool* finished) {
  const OperationMemory& memory = running_.memory;
  switch (step.kind) {
    case StepKind::kExchange: return wire_steps_.exchange(lane, step, finished);
    case StepKind::kVendor: return wire_steps_.vendor(lane, step, finished);
    case StepKind::kHostBarrier: return host_steps_.host_barrier(lane, step, finished);
    case StepKind::kLeaderReduce: return host_steps_.leader_reduce(lane, step, finished);
    case StepKind::kLeaderBroadcast: return host_steps_.leader_broadcast(lane, step, finished);
    case StepKind::kReduceMapped: return host_steps_.reduce_mapped(step);
    case StepKind::kReadMapped: return host_steps_.read_mapped(step);
    case StepKind::kReduceLocal: reduce_local(step); break;
    case StepKind::kHostAllReduce: break;  // the only step of its plan; handled by run
    case StepKind::kCopy:
      if (memory.own(step.source) != memory.own(step.target)) {
        std::memmove(memory.own(step.target), memory.own(step.source),
                     memory.bytes_of(step.source));
      }
      break;
  }
  return Result::ok();
}

void Executor::reduce_local(const plan::Step& step) const {
  if (step.target.count == 0) return;
  std::vector<const void*> sources;
  for (int part = 0; part < step.parts; ++part) {
    sources.push_back(running_.memory.own(step.source) +
                      static_cast<std::size_t>(part) * running_.memory.bytes_of(step.target));
  }
  void* targets[1] = {running_.memory.own(step.target)};
  running_.reduce_step(step, sources, targets, step.target.count);
}

// Called when no lane could advance. Spins and yields first. Then the thread sleeps: on the missing flag if it waits
// for a local rank, in the wire if it waits for messages. If the wire cannot block, messages are polled between sleeps.
// If it waits for both, flags are polled between short sleeps.
Result Executor::pause(std::int64_t idle_since) {
  const std::int64_t waited = now_ns() - idle_since;
  if (backoff_.yield(waited)) return Result::ok();
  const LaneState* local = nullptr;
  bool on_messages = false, on_vendor = false;
  for (std::size_t i = 0; i < running_.plan->lanes.size(); ++i) {
    const LaneState& lane = lanes_[i];
    if (lane.is_finished()) continue;
    on_messages |= !lane.waits_locally();
    on_vendor |= lane.step().kind == StepKind::kVendor;
    if (lane.waits_locally() && !local) local = &lane;
  }
  on_messages |= !local;  // without waiting lanes, only headers are pending
  constexpr std::int64_t kShortSleep = 50'000, kMinSleep = 20'000, kMaxSleep = 200'000;
  if (!on_messages) {
    host_steps_.await(*local);
  } else if (on_vendor ||
             !wire_.wait(events_seen_, local ? kShortSleep : StallHandler::kInterval)) {
    const timespec pause_time{0, std::clamp(waited / 16, kMinSleep, kMaxSleep)};
    ::nanosleep(&pause_time, nullptr);
  }
  if (waited < StallHandler::kInterval) return Result::ok();
  return stall_handler_.on_stall(awaited_rank(), waited);
}

// A rank whose data is missing, for the stall report.
int Executor::awaited_rank() const {
  for (std::size_t i = 0; i < running_.plan->lanes.size(); ++i) {
    if (lanes_[i].is_finished()) continue;
    const plan::Step& step = lanes_[i].step();
    if (lanes_[i].waits_locally()) return host_steps_.awaited_rank();
    if (step.kind == StepKind::kExchange) {
      return lanes_[i].sending && !lanes_[i].receiving ? step.send_to : step.receive_from;
    }
  }
  return -1;
}

}  // namespace tutti::comm
