#include "tutti/comm/execution/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "tutti/comm/kernels/kernels.h"
#include "tutti/core/clock.h"

namespace tutti::comm {

using plan::Space;
using plan::StepKind;

Executor::Executor(const ExecutorContext& parts) : parts_(parts) {}

Executor::~Executor() {
  for (const Block& block : blocks_) {
    if (block.data) parts_.arena->free(block.data);
  }
}

Result Executor::run(const plan::Plan& plan, const Operation& operation, const OpRecord& record) {
  // Lanes, headers and clocks would take longer than a small vector does.
  if (const plan::Step* step = plan.host_all_reduce()) {
    return parts_.host->all_reduce(*step, operation, record);
  }
  plan_ = &plan;
  operation_ = &operation;
  record_ = &record;
  width_ = size_of(operation.dtype);
  Result ready = prepare_memory(plan, operation, record)
                 << [&] { return send_headers(plan, record); };
  if (!ready) return ready;
  if (lanes_.size() < plan.lanes.size()) lanes_.resize(plan.lanes.size());
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    LaneState& state = lanes_[i];
    state.lane = &plan.lanes[i];
    state.index = static_cast<int>(i);
    state.next_step = state.syncs = 0;
    state.step_started = state.receive_started = false;
  }
  Result outcome = run_lanes();
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    lanes_[i].sending.reset();
    lanes_[i].receiving.reset();
    syncs_passed_[i] += lanes_[i].syncs;
  }
  pending_headers_.clear();
  expected_headers_.clear();
  if (outcome) release_large_blocks();
  return outcome;
}

// Earlier lanes go first: after every step that took time the search starts over, so that the slow
// network of the first chunk is under way before the fast memory works on the second.
Result Executor::run_lanes() {
  std::int64_t idle_since = 0;  // 0: at work
  for (;;) {
    bool all_finished = true;
    bool advanced = false;
    events_seen_ = parts_.wire->events();
    for (std::size_t i = 0; i < plan_->lanes.size() && !advanced; ++i) {
      if (lanes_[i].is_finished()) continue;
      Result step = advance(lanes_[i], &advanced);
      if (!step) return step;
      all_finished &= lanes_[i].is_finished();
    }
    // Headers leave with the data behind them, so nobody asks for them before the end.
    if (all_finished && !advanced) {
      bool agreed = true;
      Result said = finish_headers(&agreed);
      if (!said || agreed) return said;
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

// Runs the lane's next step as far as it goes without waiting.
Result Executor::advance(LaneState& lane, bool* advanced) {
  const plan::Step& step = lane.step();
  bool finished = true;
  if (!lane.step_started) lane.step_start_ns = now_ns();
  if (!lane.step_started && lane.next_step == 0) stage_in(*lane.lane);
  Result outcome = Result::ok();
  switch (step.kind) {
    case StepKind::kExchange: outcome = exchange(lane, step, &finished); break;
    case StepKind::kSync: outcome = sync(lane, step, &finished); break;
    case StepKind::kCollect: outcome = collect(lane, step, &finished); break;
    case StepKind::kSpread: outcome = spread(lane, step, &finished); break;
    case StepKind::kReduceMapped: outcome = reduce_mapped(step); break;
    case StepKind::kReduceLocal: reduce_local(step); break;
    case StepKind::kReadMapped: outcome = read_mapped(step); break;
    case StepKind::kVendor: outcome = vendor(lane, step, &finished); break;
    case StepKind::kHostAllReduce: break;  // the only step of its plan: see run
    case StepKind::kCopy:
      if (own(step.source) != own(step.target)) {
        std::memmove(own(step.target), own(step.source), bytes_of(step.source));
      }
      break;
  }
  if (!outcome || !finished) return outcome;
  times_.nanoseconds[static_cast<std::size_t>(step.dimension) % times_.nanoseconds.size()] +=
      now_ns() - lane.step_start_ns;
  lane.step_started = false;
  lane.receive_started = false;
  *advanced = true;
  if (++lane.next_step == lane.lane->steps.size()) stage_out(*lane.lane);
  return outcome;
}

Result Executor::exchange(LaneState& lane, const plan::Step& step, bool* finished) {
  if (!lane.step_started) {
    lane.step_started = true;
    if (step.send_to >= 0 && step.source.count > 0) {
      lane.sending =
          parts_.wire->send(step.send_to, lane.index + 1, own(step.source), bytes_of(step.source));
    }
  }
  Result outcome = Result::ok();
  if (!lane.receive_started) {
    outcome = start_receive(lane, step);
    if (!outcome) return outcome;
  }
  if (lane.sending) {
    bool sent = false;
    outcome = lane.sending->test(&sent);
    if (!outcome)
      return std::move(outcome).because(fmt::format("sending to rank {}", step.send_to));
    if (sent) lane.sending.reset();
  }
  if (lane.receiving) {
    bool received = false;
    outcome = lane.receiving->test(&received);
    if (!outcome) {
      return std::move(outcome).because(fmt::format("receiving from rank {}", step.receive_from));
    }
    if (received) lane.receiving.reset();
  }
  *finished = lane.receive_started && !lane.has_transfer();
  // Only now: what is sent may be the very range that is folded into.
  if (*finished && step.reduce && step.receive_from >= 0) fold_arrived(lane, step);
  return outcome;
}

// A receive is posted only after the peer's header was seen to agree: a message of another size
// must not land here.
Result Executor::start_receive(LaneState& lane, const plan::Step& step) {
  if (step.receive_from < 0 || step.target.count == 0) {
    lane.receive_started = true;
    return Result::ok();
  }
  bool agreed = false;
  Result outcome = check_header(step.receive_from, &agreed);
  if (!outcome || !agreed) return outcome;
  lane.receive_started = true;
  std::byte* target = own(step.target);
  if (step.reduce) {
    if (lane.arrived.size() < bytes_of(step.target)) lane.arrived.resize(bytes_of(step.target));
    target = lane.arrived.data();
  }
  lane.receiving =
      parts_.wire->receive(step.receive_from, lane.index + 1, target, bytes_of(step.target));
  return outcome;
}

void Executor::fold_arrived(LaneState& lane, const plan::Step& step) {
  std::byte* target = own(step.target);
  const void* sources[2] = {target, lane.arrived.data()};
  if (step.arrived_first) std::swap(sources[0], sources[1]);
  void* targets[1] = {target};
  reduce(operation_->dtype, fold_op(step), sources, targets, step.target.count, plan_->ranks);
}

Result Executor::sync(LaneState& lane, const plan::Step& step, bool* finished) {
  const std::uint32_t count = syncs_passed_[lane.index] + lane.syncs + 1;
  if (!lane.step_started) {
    lane.step_started = true;
    parts_.host->arrive(lane.index, count);
  }
  for (const int rank : plan_->groups[step.group]) {
    const int member = parts_.host->index_of(rank);
    if (!parts_.host->has_arrived(member, lane.index, count)) {
      *finished = false;
      times_.last_rank = rank;
      return Result::ok();
    }
    if (lane.syncs == 0) {
      Result agreed = parts_.host->check_fingerprint(member, *record_);
      if (!agreed) return agreed;
    }
  }
  ++lane.syncs;
  return Result::ok();
}

// What nobody waits for costs nothing: only the root waits in a collect, only the others in a
// spread.
Result Executor::collect(LaneState& lane, const plan::Step& step, bool* finished) {
  HostGroup& host = *parts_.host;
  const bool is_root = step.receive_from == parts_.rank;
  if (!lane.step_started) {
    lane.step_started = true;
    host.begin_turn();
    if (!is_root) host.show(*record_, own(step.source), bytes_of(step.source));
  }
  if (!is_root) return Result::ok();
  sources_.clear();
  for (const int rank : plan_->groups[step.group]) {
    const int member = host.index_of(rank);
    const std::byte* data = own(step.source);
    if (rank != parts_.rank) {
      *finished = host.has_shown(member);
      times_.last_rank = rank;
      if (!*finished) return Result::ok();
      Result agreed = host.shown(member, *record_, &data);
      if (!agreed) return agreed;
    }
    sources_.push_back(data);
  }
  void* targets[1] = {own(step.target)};
  reduce(operation_->dtype, fold_op(step), sources_, targets, step.source.count, plan_->ranks);
  return Result::ok();
}

Result Executor::spread(LaneState& lane, const plan::Step& step, bool* finished) {
  HostGroup& host = *parts_.host;
  lane.step_started = true;
  if (step.receive_from == parts_.rank) {
    host.show(*record_, own(step.source), bytes_of(step.source));
    return Result::ok();
  }
  const int member = host.index_of(step.receive_from);
  *finished = host.has_shown(member);
  times_.last_rank = step.receive_from;
  if (!*finished) return Result::ok();
  const std::byte* data = nullptr;
  Result agreed = host.shown(member, *record_, &data);
  if (agreed) std::memcpy(own(step.target), data, bytes_of(step.target));
  return agreed;
}

Result Executor::reduce_mapped(const plan::Step& step) {
  if (step.source.count == 0) return Result::ok();
  const auto& group = plan_->groups[step.group];
  sources_.clear();
  targets_.clear();
  for (const int rank : group) {
    std::byte* base = nullptr;
    Result mapped = window(rank, step.source.space, &base);
    if (!mapped) return mapped;
    sources_.push_back(base + static_cast<std::size_t>(step.source.begin) * width_);
  }
  for (const int rank : step.store_to) {
    std::byte* base = nullptr;
    Result mapped = window(rank, step.target.space, &base);
    if (!mapped) return mapped;
    targets_.push_back(base + static_cast<std::size_t>(step.target.begin) * width_);
  }
  reduce(operation_->dtype, fold_op(step), sources_, targets_, step.source.count, plan_->ranks);
  return Result::ok();
}

void Executor::reduce_local(const plan::Step& step) {
  if (step.target.count == 0) return;
  sources_.clear();
  for (int part = 0; part < step.parts; ++part) {
    sources_.push_back(own(step.source) + static_cast<std::size_t>(part) * bytes_of(step.target));
  }
  void* targets[1] = {own(step.target)};
  reduce(operation_->dtype, fold_op(step), sources_, targets, step.target.count, plan_->ranks);
}

// Begun only after the neighbour in the group was seen to be in the same operation: a chain of such
// looks joins all members. From then on it is tested like a message, so a member that stays away is
// noticed.
Result Executor::vendor(LaneState& lane, const plan::Step& step, bool* finished) {
  if (!parts_.vendor) {
    return Result::failure(
        ErrorKind::kConfig, "DDL-4-08",
        "Mode m needs a transport with collectives of its own, MPI. Start with mpirun or "
        "ddlrun, or use mode p.");
  }
  const auto& members = plan_->groups[step.group];
  if (!lane.step_started) {
    *finished = members.size() == 1;
    Result agreed =
        *finished ? Result::ok() : check_header(neighbour(members, parts_.rank, -1), finished);
    if (!agreed || !*finished) return agreed;
    // Making a group blocks, so this rank's header must be out before.
    Result said = finish_headers(finished);
    if (!said || !*finished) return said;
    std::vector<int> group;
    for (const int rank : members) group.push_back(parts_.transport_ranks[rank]);
    lane.step_started = true;
    Result begun =
        parts_.vendor->start(step.vendor_collective, group, own(step.source), own(step.target),
                             step.counts, operation_->dtype, sum_for_average(), &lane.receiving);
    if (!begun) return begun;
  }
  Result outcome = lane.receiving ? lane.receiving->test(finished) : Result::ok();
  if (!outcome || !*finished) return outcome;
  lane.receiving.reset();
  if (step.completes && operation_->op == ReduceOp::kAverage) {
    const void* sources[1] = {own(step.target)};
    void* targets[1] = {own(step.target)};
    reduce(operation_->dtype, ReduceOp::kAverage, sources, targets, step.target.count,
           plan_->ranks);
  }
  return outcome;
}

Result Executor::read_mapped(const plan::Step& step) {
  if (step.source.count == 0) return Result::ok();
  std::byte* base = nullptr;
  Result mapped = window(step.receive_from, step.source.space, &base);
  if (!mapped) return mapped;
  const std::byte* from = base + static_cast<std::size_t>(step.source.begin) * width_;
  if (from != own(step.target)) stream_copy(own(step.target), from, bytes_of(step.source));
  return Result::ok();
}

Result Executor::window(int rank, Space space, std::byte** base) {
  if (rank == parts_.rank) {
    *base = own({space, 0, 0});
    return Result::ok();
  }
  return parts_.host->window(parts_.host->index_of(rank), space, base);
}

// Averages are sums until the fold that completes them.
ReduceOp Executor::sum_for_average() const {
  return operation_->op == ReduceOp::kAverage ? ReduceOp::kSum : operation_->op;
}
ReduceOp Executor::fold_op(const plan::Step& step) const {
  return step.completes ? operation_->op : sum_for_average();
}

// Nothing could advance. Awake first; then local waits sleep on the flag that is missing, waits for
// messages in the wire. Where the wire cannot, messages must be looked for, after naps. Who waits
// for both looks at the flags between short sleeps.
Result Executor::pause(std::int64_t idle_since) {
  const std::int64_t waited = now_ns() - idle_since;
  if (backoff_.yield(waited)) return Result::ok();
  const LaneState* local = nullptr;
  bool on_messages = false, on_vendor = false;
  for (std::size_t i = 0; i < plan_->lanes.size(); ++i) {
    const LaneState& lane = lanes_[i];
    if (lane.is_finished()) continue;
    on_messages |= !lane.waits_locally();
    on_vendor |= lane.step().kind == StepKind::kVendor;
    if (lane.waits_locally() && !local) local = &lane;
  }
  on_messages |= !local;  // headers are left when no lane is
  constexpr std::int64_t kShortSleep = 50'000, kShortestNap = 20'000, kLongestNap = 200'000;
  if (!on_messages) {
    await_member(*local);
  } else if (on_vendor ||
             !parts_.wire->wait(events_seen_, local ? kShortSleep : StallHandler::kInterval)) {
    const timespec nap{0, std::clamp(waited / 16, kShortestNap, kLongestNap)};
    ::nanosleep(&nap, nullptr);
  }
  if (waited < StallHandler::kInterval) return Result::ok();
  return parts_.stall_handler->on_stall(awaited_rank(), waited);
}

void Executor::await_member(const LaneState& lane) const {
  const int member = parts_.host->index_of(times_.last_rank);
  if (lane.step().kind != StepKind::kSync) return parts_.host->await_slot(member);
  const std::uint32_t count = syncs_passed_[lane.index] + lane.syncs + 1;
  parts_.host->await_arrival(member, lane.index, count);
}

// One rank whose part is missing, for the report.
int Executor::awaited_rank() const {
  for (std::size_t i = 0; i < plan_->lanes.size(); ++i) {
    if (lanes_[i].is_finished()) continue;
    const plan::Step& step = lanes_[i].step();
    if (lanes_[i].waits_locally()) return times_.last_rank;
    if (step.kind == StepKind::kExchange) {
      return lanes_[i].sending && !lanes_[i].receiving ? step.send_to : step.receive_from;
    }
  }
  return -1;
}

}  // namespace tutti::comm
