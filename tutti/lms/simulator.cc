#include "tutti/lms/simulator.h"

#include <algorithm>
#include <cstddef>
#include <deque>

#include "tutti/lms/lifetimes.h"
#include "tutti/lms/recompute.h"

namespace tutti::lms {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

// State of the step in virtual time.
//
// A block is absent, resident, being written, out or being read. Bytes of blocks that are being written or read are
// resident. Time is the time of the trace plus `delay_`, the sum of all stalls so far: without stalls, times are
// exactly those of the trace. Transfers are queued per direction; a queue is represented by the time at which it
// becomes idle, because a transfer that has been queued is never cancelled. Memory is released when a write completes.
// Planned reads for which there is no room wait in `pending_reads_` until memory is released.
class Replay {
 public:
  Replay(const Trace& trace, const Plan& plan, const SimulatorOptions& options);
  Simulation run();

 private:
  enum class State : unsigned char { kAbsent, kResident, kWriting, kOut, kReading };
  struct BlockState {
    State state = State::kAbsent;
    double ready = 0;                    // kReading: completion of the read
    int pinned_by = -1;                  // operator that needs it now
    std::size_t next_use = 0;            // cursor into Lifetime::uses
    const Decision* decision = nullptr;  // of the interval in which it is out
    std::int64_t stored = 0;             // kOut, kReading: encoded bytes; 0: not encoded
  };
  struct Write {
    int block = 0;
    double done = 0;
    std::int64_t staging = 0;  // encoded content in memory
  };
  // Decisions by the operator at whose boundary they act.
  struct Actions {
    std::vector<const Decision*> write_after, free_by, read_before, recompute;
  };

  void index(const Plan& plan);
  void run_step();
  void run_operator(int op);
  void start_moves(int op);
  void apply(const std::vector<MemoryEvent>& events);
  void release_at_end_of_step();

  void use(int block);
  void recompute(const Decision& decision);
  void make_room(std::int64_t bytes);
  bool free_one_block();
  int farthest_block();
  int first_read_in_flight() const;
  double next_use_of(int block);

  void start_write(int block, const Decision* decision);
  std::int64_t encode(int block, const Decision* decision);
  void start_read(int block, bool is_planned);
  void finish_read(int block);
  void start_pending_reads();
  void spend(double seconds);
  void release(int block);
  void add_resident(std::int64_t bytes);
  // Completes the writes that are done at the current time.
  void complete_writes();
  void complete_first_write();
  void wait_for_write();
  void stall(StallKind kind, int block, double until);
  double now() const { return clock_ + delay_; }
  double queue_transfer(double& idle_at, double seconds);

  const Trace& trace_;
  const SimulatorOptions& options_;
  const int count_;
  const std::vector<Lifetime> lifetimes_;
  const RecomputeRules rules_{trace_, lifetimes_};
  std::vector<Actions>
      actions_;  // by operator; actions in the next step are those of operator index - count
  bool crosses_steps_ = false;

  std::vector<BlockState> blocks_;
  std::deque<Write> writes_;
  std::deque<const Decision*> pending_reads_;
  double clock_ = 0, delay_ = 0;           // time in the trace; sum of stalls
  double write_idle_ = 0, read_idle_ = 0;  // times at which the channels become idle
  std::int64_t resident_ = 0;
  bool is_making_room_ = false;
  int op_ = 0;
  Simulation result_;
};

Replay::Replay(const Trace& trace, const Plan& plan, const SimulatorOptions& options)
    : trace_(trace),
      options_(options),
      count_(static_cast<int>(trace.operators.size())),
      lifetimes_(lifetimes_of(trace)),
      actions_(trace.operators.size() + 1),
      blocks_(trace.blocks.size()) {
  index(plan);
}

void Replay::index(const Plan& plan) {
  for (const Decision& decision : plan.decisions) {
    const auto slot = [&](int op) -> Actions& {
      if (op >= count_) crosses_steps_ = true;
      return actions_[at(op >= count_ ? op - count_ : op)];
    };
    if (decision.action == Action::kRecompute) {
      slot(decision.write_after).write_after.push_back(&decision);
      slot(decision.next_use).recompute.push_back(&decision);
      continue;
    }
    if (decision.write_after < 0) {  // never used in the step
      crosses_steps_ = true;
      slot(0).free_by.push_back(&decision);
      continue;
    }
    slot(decision.write_after).write_after.push_back(&decision);
    if (!decision.is_needed) {
      if (decision.free_by < count_) slot(decision.free_by).free_by.push_back(&decision);
      continue;
    }
    slot(decision.free_by).free_by.push_back(&decision);
    slot(decision.read_before).read_before.push_back(&decision);
  }
  for (Actions& actions : actions_) {  // reads in the order of their use
    std::sort(actions.read_before.begin(), actions.read_before.end(),
              [](const Decision* left, const Decision* right) {
                return left->next_use != right->next_use ? left->next_use < right->next_use
                                                         : left->block < right->block;
              });
  }
}

Simulation Replay::run() {
  add_resident(trace_.small_bytes);
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    if (!trace_.blocks[block].is_persistent) continue;
    blocks_[block].state = State::kResident;
    add_resident(trace_.blocks[block].bytes);
  }
  if (crosses_steps_) run_step();
  run_step();
  return result_;
}

void Replay::run_step() {
  result_ = {};
  result_.peak = resident_;
  const double start = now();
  const double trace_start = clock_;
  if (options_.records_curve) result_.resident.push_back({start, resident_});
  for (BlockState& block : blocks_) {
    block.next_use = 0;
    block.pinned_by = -1;
  }
  for (int op = 0; op < count_; ++op) {
    op_ = op;
    clock_ = trace_start + trace_.operators[at(op)].start;
    run_operator(op);
    clock_ = trace_start + trace_.operators[at(op)].end;
    complete_writes();
    for (const Decision* decision : actions_[at(op)].write_after) {
      start_write(decision->block, decision);
    }
  }
  clock_ = trace_start + trace_.duration;
  op_ = count_;
  complete_writes();
  apply(trace_.events_after);
  result_.seconds = result_.write_stall + result_.read_stall + result_.recompute +
                    result_.transfer_cpu + trace_.duration;
  for (Sample& sample : result_.resident) sample.seconds -= start;
  release_at_end_of_step();
}

void Replay::run_operator(int op) {
  const Operator& current = trace_.operators[at(op)];
  complete_writes();
  apply(current.events_before);
  start_moves(op);
  if (op == 0) make_room(0);  // persistent blocks may exceed the budget
  for (const int block : current.uses) {
    if (blocks_[at(block)].state != State::kAbsent) blocks_[at(block)].pinned_by = op;
  }
  for (const Decision* decision : actions_[at(op)].recompute) recompute(*decision);
  for (const int block : current.uses) use(block);
  apply(current.events);
}

void Replay::start_moves(int op) {
  for (const Decision* decision : actions_[at(op)].free_by) {
    BlockState& block = blocks_[at(decision->block)];
    if (block.state == State::kResident) start_write(decision->block, decision);
    while (block.state == State::kWriting) wait_for_write();
  }
  for (const Decision* decision : actions_[at(op)].read_before) {
    if (blocks_[at(decision->block)].state == State::kOut) pending_reads_.push_back(decision);
  }
  start_pending_reads();
}

void Replay::apply(const std::vector<MemoryEvent>& events) {
  for (const MemoryEvent& event : events) {
    BlockState& block = blocks_[at(event.block)];
    if (event.kind == EventKind::kAllocate) {
      const std::int64_t bytes = trace_.blocks[at(event.block)].bytes;
      make_room(bytes);
      block.state = State::kResident;
      block.pinned_by = op_;
      add_resident(bytes);
    } else {
      if (block.state != State::kOut) release(event.block);
      if (block.state == State::kReading) add_resident(-block.stored);
      block.stored = 0;
      block.state = State::kAbsent;
      start_pending_reads();
    }
  }
}

// Blocks of the step that are still alive, such as the loss, are freed before the next step.
void Replay::release_at_end_of_step() {
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    BlockState& state = blocks_[block];
    if (trace_.blocks[block].is_persistent || state.state == State::kAbsent) continue;
    if (state.state != State::kOut) release(static_cast<int>(block));
    if (state.state == State::kReading) add_resident(-state.stored);
    state.stored = 0;
    state.state = State::kAbsent;
  }
}

void Replay::use(int index) {
  BlockState& block = blocks_[at(index)];
  if (block.state == State::kWriting) {  // used again before the write has completed
    block.state = State::kResident;
    block.decision = nullptr;
    block.stored = 0;
  }
  if (block.state == State::kOut) start_read(index, block.decision != nullptr);
  if (block.state == State::kReading) {
    stall(StallKind::kRead, index, block.ready);
    finish_read(index);
  }
  block.pinned_by = op_;
}

void Replay::recompute(const Decision& decision) {
  BlockState& block = blocks_[at(decision.block)];
  if (block.state != State::kOut) return;
  const auto chain = rules_.chain(decision.block, decision.next_use);
  if (!chain) return;
  for (const int input : chain->inputs) use(input);
  const std::int64_t bytes = trace_.blocks[at(decision.block)].bytes;
  make_room(bytes + chain->temporary_bytes);
  add_resident(bytes + chain->temporary_bytes);
  add_resident(-chain->temporary_bytes);
  block.state = State::kResident;
  block.pinned_by = op_;
  block.decision = nullptr;
  delay_ += chain->seconds;
  result_.recompute += chain->seconds;
  for (const int input : chain->inputs) blocks_[at(input)].pinned_by = -1;
  for (const int pinned : trace_.operators[at(op_)].uses) blocks_[at(pinned)].pinned_by = op_;
  complete_writes();
}

void Replay::make_room(std::int64_t bytes) {
  is_making_room_ = true;
  while (resident_ + bytes > options_.budget && free_one_block()) {
  }
  is_making_room_ = false;
  if (resident_ + bytes > options_.budget && result_.is_feasible) {
    result_.is_feasible = false;
    result_.infeasible_op = op_;
  }
}

// Returns false if no block can be freed.
bool Replay::free_one_block() {
  if (!writes_.empty()) {
    wait_for_write();
    return true;
  }
  if (const int victim = farthest_block(); victim >= 0) {
    ++result_.unplanned_writes;
    start_write(victim, nullptr);
    return true;
  }
  const int reading = first_read_in_flight();
  if (reading < 0) return false;
  stall(StallKind::kWrite, -1, blocks_[at(reading)].ready);
  finish_read(reading);
  return true;
}

double Replay::next_use_of(int index) {
  const auto& uses = lifetimes_[at(index)].uses;
  std::size_t& cursor = blocks_[at(index)].next_use;
  while (cursor < uses.size() && uses[cursor] <= op_) ++cursor;
  if (cursor < uses.size()) return uses[cursor];
  const bool is_cyclic = trace_.blocks[at(index)].is_persistent && !uses.empty();
  return is_cyclic ? count_ + uses.front() : std::numeric_limits<double>::infinity();
}

int Replay::farthest_block() {
  int farthest = -1;
  double farthest_use = -1;
  for (std::size_t index = 0; index < blocks_.size(); ++index) {
    BlockState& block = blocks_[index];
    if (block.state == State::kReading && block.ready <= now())
      finish_read(static_cast<int>(index));
    if (block.state != State::kResident || block.pinned_by == op_) continue;
    if (!options_.movable.contains(trace_.blocks[index])) continue;
    const double use = next_use_of(static_cast<int>(index));
    if (use > farthest_use) {
      farthest_use = use;
      farthest = static_cast<int>(index);
    }
  }
  return farthest;
}

// The block that an operator does not need and whose read ends first; -1: none.
int Replay::first_read_in_flight() const {
  int first = -1;
  for (std::size_t index = 0; index < blocks_.size(); ++index) {
    const BlockState& block = blocks_[index];
    if (block.state != State::kReading || block.pinned_by == op_) continue;
    if (!options_.movable.contains(trace_.blocks[index])) continue;
    if (first < 0 || block.ready < blocks_[at(first)].ready) first = static_cast<int>(index);
  }
  return first;
}

double Replay::queue_transfer(double& idle_at, double seconds) {
  double& channel = options_.tier.is_duplex ? idle_at : write_idle_;
  channel = std::max(channel, now()) + seconds;
  return channel;
}

void Replay::start_write(int index, const Decision* decision) {
  BlockState& block = blocks_[at(index)];
  if (block.state == State::kReading) finish_read(index);
  if (block.state != State::kResident) return;
  block.decision = decision;
  const bool is_written =
      decision == nullptr || (decision->action == Action::kSwap && !decision->is_clean);
  block.stored = 0;
  if (!is_written) {
    release(index);
    block.state = State::kOut;
    start_pending_reads();
    return;
  }
  block.stored = encode(index, decision);
  const std::int64_t bytes = block.stored > 0 ? block.stored : trace_.blocks[at(index)].bytes;
  spend(static_cast<double>(bytes) * options_.tier.cpu_seconds_per_byte);
  result_.written += bytes;
  block.state = State::kWriting;
  writes_.push_back(
      {index, queue_transfer(write_idle_, options_.tier.write_seconds(bytes)), block.stored});
  complete_writes();
}

// Returns the size of the encoded content, which is resident until it is written; 0: the block is written as it is.
std::int64_t Replay::encode(int index, const Decision* decision) {
  const Block& block = trace_.blocks[at(index)];
  if (decision == nullptr || stored_size(block, decision->codec) == block.bytes) return 0;
  if (resident_ + block.stored_bytes > options_.budget) return 0;
  spend(static_cast<double>(block.bytes) / options_.tier.encode_bandwidth);
  add_resident(block.stored_bytes);
  return block.stored_bytes;
}

void Replay::start_read(int index, bool is_planned) {
  BlockState& block = blocks_[at(index)];
  const Block& info = trace_.blocks[at(index)];
  make_room(info.bytes + block.stored);
  if (!is_planned) ++result_.unplanned_reads;
  const std::int64_t bytes = block.stored > 0 ? block.stored : info.bytes;
  spend(static_cast<double>(bytes) * options_.tier.cpu_seconds_per_byte);
  result_.read += bytes;
  add_resident(info.bytes + block.stored);
  block.state = State::kReading;
  block.decision = nullptr;
  block.ready = queue_transfer(read_idle_, options_.tier.read_seconds(bytes));
}

void Replay::finish_read(int index) {
  BlockState& block = blocks_[at(index)];
  block.state = State::kResident;
  if (block.stored == 0) return;
  add_resident(-block.stored);
  block.stored = 0;
  spend(static_cast<double>(trace_.blocks[at(index)].bytes) / options_.tier.decode_bandwidth);
}

// CPU time for transfers.
void Replay::spend(double seconds) {
  delay_ += seconds;
  result_.transfer_cpu += seconds;
}

void Replay::start_pending_reads() {
  if (is_making_room_) return;  // an allocation has priority
  while (!pending_reads_.empty()) {
    const Decision& decision = *pending_reads_.front();
    const BlockState& block = blocks_[at(decision.block)];
    if (block.state == State::kOut) {
      const std::int64_t bytes = trace_.blocks[at(decision.block)].bytes + block.stored;
      if (resident_ + bytes > options_.budget) return;
      pending_reads_.pop_front();
      start_read(decision.block, true);
    } else {
      pending_reads_.pop_front();  // freed, or already read because an operator needed it
    }
  }
}

void Replay::release(int index) {
  add_resident(-trace_.blocks[at(index)].bytes);
}

void Replay::add_resident(std::int64_t bytes) {
  resident_ += bytes;
  result_.peak = std::max(result_.peak, resident_);
  if (options_.records_curve) result_.resident.push_back({now(), resident_});
}

void Replay::complete_writes() {
  while (!writes_.empty() && writes_.front().done <= now()) complete_first_write();
}

void Replay::complete_first_write() {
  const int index = writes_.front().block;
  add_resident(-writes_.front().staging);
  writes_.pop_front();
  BlockState& block = blocks_[at(index)];
  if (block.state != State::kWriting) return;  // freed or used again
  release(index);
  block.state = State::kOut;
  start_pending_reads();
}

// Always completes the first write, because adding the stall to the time may round down.
void Replay::wait_for_write() {
  stall(StallKind::kWrite, -1, writes_.front().done);
  complete_first_write();
}

void Replay::stall(StallKind kind, int block, double until) {
  const double seconds = until - now();
  if (seconds > 0) {
    delay_ += seconds;
    (kind == StallKind::kRead ? result_.read_stall : result_.write_stall) += seconds;
    result_.stalls.push_back({kind, op_, block, seconds});
  }
}

}  // namespace

std::int64_t stored_size(const Block& block, Codec codec) {
  const bool is_encoded = codec != Codec::kNone && codec == block.codec && block.stored_bytes > 0;
  return is_encoded ? std::min(block.stored_bytes, block.bytes) : block.bytes;
}

Simulation simulate(const Trace& trace, const Plan& plan, const SimulatorOptions& options) {
  return Replay(trace, plan, options).run();
}

}  // namespace tutti::lms
