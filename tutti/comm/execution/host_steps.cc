#include "tutti/comm/execution/host_steps.h"

#include <cstring>

// Each lane counts its host barriers over all operations of the communicator. To pass barrier n, a rank sets its flag
// for the lane to n and waits until the flags of all members have reached n. Counters only grow, so a fast rank can
// enter the next operation while a slow one still waits in this one. At the first barrier of an operation a rank also
// compares the fingerprints of the members with its own: all steps before it access only memory of this rank.
//
// After the first barrier the members know each other's addresses, so mapped steps (reduce_mapped, read_mapped) need no
// further synchronisation; the plan has a barrier between a write and the reads that depend on it. Leader steps use the
// eager slots instead: publishing a vector and waiting for it is the synchronisation.
namespace tutti::comm {

using plan::Space;

void HostSteps::open_windows() {
  windows_.open(*running_.record, running_.memory.base(Space::kInput),
                running_.memory.base(Space::kOutput), running_.memory.base(Space::kScratch));
}

Result HostSteps::host_barrier(LaneState& lane, const plan::Step& step, bool* finished) {
  const std::uint32_t count = barriers_passed_[lane.index] + lane.barriers + 1;
  if (!lane.step_started) {
    lane.step_started = true;
    windows_.arrive(lane.index, count);
  }
  for (const int rank : running_.plan->groups[step.group]) {
    const int member = host_.index_of(rank);
    if (!windows_.has_arrived(member, lane.index, count)) {
      *finished = false;
      awaited_rank_ = rank;
      return Result::ok();
    }
    if (lane.barriers == 0) {
      Result agreed = windows_.check_fingerprint(member, *running_.record);
      if (!agreed) return agreed;
    }
  }
  ++lane.barriers;
  return Result::ok();
}

// Only ranks that need the result block: the root in a leader_reduce, the other ranks in a leader_broadcast.
Result HostSteps::leader_reduce(LaneState& lane, const plan::Step& step, bool* finished) {
  const bool is_root = step.receive_from == rank_;
  if (!lane.step_started) {
    lane.step_started = true;
    slots_.begin_turn();
    if (is_root) slots_.look(*running_.record);
    if (!is_root)
      slots_.publish(*running_.record, running_.memory.own(step.source),
                     running_.memory.bytes_of(step.source));
  }
  if (!is_root) return Result::ok();
  sources_.clear();
  for (const int rank : running_.plan->groups[step.group]) {
    const int member = host_.index_of(rank);
    const std::byte* data = running_.memory.own(step.source);
    if (rank != rank_) {
      *finished = slots_.has_shown(member);
      awaited_rank_ = rank;
      if (!*finished) return Result::ok();
      Result agreed = slots_.published(member, *running_.record, &data);
      if (!agreed) return agreed;
    }
    sources_.push_back(data);
  }
  void* targets[1] = {running_.memory.own(step.target)};
  running_.reduce_step(step, sources_, targets, step.source.count);
  return Result::ok();
}

Result HostSteps::leader_broadcast(LaneState& lane, const plan::Step& step, bool* finished) {
  lane.step_started = true;
  if (step.receive_from == rank_) {
    slots_.publish(*running_.record, running_.memory.own(step.source),
                   running_.memory.bytes_of(step.source));
    return Result::ok();
  }
  const int member = host_.index_of(step.receive_from);
  *finished = slots_.has_shown(member);
  awaited_rank_ = step.receive_from;
  if (!*finished) return Result::ok();
  const std::byte* data = nullptr;
  Result agreed = slots_.published(member, *running_.record, &data);
  if (agreed)
    std::memcpy(running_.memory.own(step.target), data, running_.memory.bytes_of(step.target));
  return agreed;
}

Result HostSteps::reduce_mapped(const plan::Step& step) {
  if (step.source.count == 0) return Result::ok();
  const auto& group = running_.plan->groups[step.group];
  sources_.clear();
  targets_.clear();
  for (const int rank : group) {
    std::byte* base = nullptr;
    Result mapped = window(rank, step.source.space, &base);
    if (!mapped) return mapped;
    sources_.push_back(base + running_.memory.offset_of(step.source));
  }
  for (const int rank : step.store_to) {
    std::byte* base = nullptr;
    Result mapped = window(rank, step.target.space, &base);
    if (!mapped) return mapped;
    targets_.push_back(base + running_.memory.offset_of(step.target));
  }
  running_.reduce_step(step, sources_, targets_, step.source.count);
  return Result::ok();
}

Result HostSteps::read_mapped(const plan::Step& step) {
  if (step.source.count == 0) return Result::ok();
  std::byte* base = nullptr;
  Result mapped = window(step.receive_from, step.source.space, &base);
  if (!mapped) return mapped;
  const std::byte* from = base + running_.memory.offset_of(step.source);
  if (from != running_.memory.own(step.target))
    stream_copy(running_.memory.own(step.target), from, running_.memory.bytes_of(step.source));
  return Result::ok();
}

Result HostSteps::window(int rank, Space space, std::byte** base) {
  if (rank == rank_) {
    *base = running_.memory.own({space, 0, 0});
    return Result::ok();
  }
  return windows_.window(host_.index_of(rank), space, base);
}

void HostSteps::await(const LaneState& lane) {
  const int member = host_.index_of(awaited_rank_);
  if (lane.step().kind != plan::StepKind::kHostBarrier) return slots_.await(member);
  const std::uint32_t count = barriers_passed_[lane.index] + lane.barriers + 1;
  windows_.await_arrival(member, lane.index, count);
}

}  // namespace tutti::comm
