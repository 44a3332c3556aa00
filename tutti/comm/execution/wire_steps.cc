#include "tutti/comm/execution/wire_steps.h"

#include <fmt/format.h>

#include <utility>

// An exchange has up to three transfers, which progress independently: the send, the receive, and the header of the
// sending peer. The send starts at once. The receive is posted when the header has arrived and agrees with this rank's
// operation. A message that will be reduced arrives in a buffer of the lane; it is reduced into the target when both
// transfers are complete. Lane i uses channel i + 1 and headers channel 0, so messages of different lanes do not block
// each other.
namespace tutti::comm {

Result WireSteps::exchange(LaneState& lane, const plan::Step& step, bool* finished) {
  if (!lane.step_started) {
    lane.step_started = true;
    if (step.send_to >= 0 && step.source.count > 0) {
      lane.sending = wire_.send(step.send_to, lane.index + 1, running_.memory.own(step.source),
                                running_.memory.bytes_of(step.source));
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
      return std::move(outcome).with_context(fmt::format("sending to rank {}", step.send_to));
    if (sent) lane.sending.reset();
  }
  if (lane.receiving) {
    bool received = false;
    outcome = lane.receiving->test(&received);
    if (!outcome) {
      return std::move(outcome).with_context(
          fmt::format("receiving from rank {}", step.receive_from));
    }
    if (received) lane.receiving.reset();
  }
  *finished = lane.receive_started && !lane.has_transfer();
  // After the send has finished, because the sent range may be the target of the reduction.
  if (*finished && step.reduce && step.receive_from >= 0) reduce_arrived(lane, step);
  return outcome;
}

// The receive is posted only after the header of the peer has been checked, so a message of another operation is never
// written to the buffer.
Result WireSteps::start_receive(LaneState& lane, const plan::Step& step) {
  if (step.receive_from < 0 || step.target.count == 0) {
    lane.receive_started = true;
    return Result::ok();
  }
  bool agreed = false;
  Result outcome = handshakes_.check(step.receive_from, &agreed);
  if (!outcome || !agreed) return outcome;
  lane.receive_started = true;
  std::byte* target = running_.memory.own(step.target);
  if (step.reduce) {
    if (lane.arrived.size() < running_.memory.bytes_of(step.target))
      lane.arrived.resize(running_.memory.bytes_of(step.target));
    target = lane.arrived.data();
  }
  lane.receiving = wire_.receive(step.receive_from, lane.index + 1, target,
                                 running_.memory.bytes_of(step.target));
  return outcome;
}

void WireSteps::reduce_arrived(LaneState& lane, const plan::Step& step) const {
  std::byte* target = running_.memory.own(step.target);
  const void* sources[2] = {target, lane.arrived.data()};
  if (step.arrived_first) std::swap(sources[0], sources[1]);
  void* targets[1] = {target};
  running_.reduce_step(step, sources, targets, step.target.count);
}

// Starts only after the neighbour in the group is known to be in the same operation; this chain covers all members.
// Afterwards the collective is tested like a message, so a missing member is detected.
Result WireSteps::vendor(LaneState& lane, const plan::Step& step, bool* finished) {
  if (!vendor_) {
    return Result::failure(ErrorKind::kConfig, "DDL-4-08",
                           "Mode m needs MPI. Start the job with mpirun or ddlrun, or use mode p.");
  }
  const auto& members = running_.plan->groups[step.group];
  if (!lane.step_started) {
    *finished = members.size() == 1;
    Result agreed =
        *finished ? Result::ok() : handshakes_.check(handshakes_.before(members), finished);
    if (!agreed || !*finished) return agreed;
    // Creating a group blocks, so this rank's header must have been sent before.
    Result sent = handshakes_.finish(finished);
    if (!sent || !*finished) return sent;
    std::vector<int> group;
    for (const int rank : members) group.push_back(transport_ranks_[rank]);
    lane.step_started = true;
    Result begun =
        vendor_->start(step.vendor_collective, group, running_.memory.own(step.source),
                       running_.memory.own(step.target), step.counts, running_.operation->dtype,
                       running_.sum_for_average(), &lane.receiving);
    if (!begun) return begun;
  }
  Result outcome = lane.receiving ? lane.receiving->test(finished) : Result::ok();
  if (!outcome || !*finished) return outcome;
  lane.receiving.reset();
  if (step.completes && running_.operation->op == ReduceOp::kAverage) {
    const void* sources[1] = {running_.memory.own(step.target)};
    void* targets[1] = {running_.memory.own(step.target)};
    reduce(running_.operation->dtype, ReduceOp::kAverage, sources, targets, step.target.count,
           running_.plan->ranks);
  }
  return outcome;
}

}  // namespace tutti::comm
