// Memory requirements of a step that do not depend on the plan: the peak without LMS, and the smallest budget.
#include <algorithm>
#include <cstddef>

#include "tutti/lms/simulator.h"

namespace tutti::lms {
namespace {

// Replays a trace and counts the blocks that must be resident at the same time: all blocks that may not move and exist,
// and the blocks of the current operator. Blocks allocated before an operator belong to that operator.
class WorkingSets {
 public:
  WorkingSets(const Trace& trace, const MovableBlocks& movable)
      : trace_(trace), movable_(movable), pinned_by_(trace.blocks.size(), -1) {
    fixed_ = trace.small_bytes;
    for (const Block& block : trace.blocks) {
      if (block.is_persistent && !movable.contains(block)) fixed_ += block.bytes;
    }
    record();
  }

  Requirement run() {
    for (std::size_t op = 0; op < trace_.operators.size(); ++op) {
      op_ = static_cast<int>(op);
      pinned_ = 0;
      apply(trace_.operators[op].events_before);
      for (const int block : trace_.operators[op].uses) pin(block);
      record();
      apply(trace_.operators[op].events);
    }
    op_ = static_cast<int>(trace_.operators.size());
    pinned_ = 0;
    apply(trace_.events_after);
    largest_.op = std::min(largest_.op, op_ - 1);
    return largest_;
  }

 private:
  const Block& info(int block) const { return trace_.blocks[static_cast<std::size_t>(block)]; }

  void pin(int block) {
    int& pinned_by = pinned_by_[static_cast<std::size_t>(block)];
    if (pinned_by == op_ || !movable_.contains(info(block))) return;
    pinned_by = op_;
    pinned_ += info(block).bytes;
  }

  void apply(const std::vector<MemoryEvent>& events) {
    for (const MemoryEvent& event : events) {
      const bool is_allocation = event.kind == EventKind::kAllocate;
      if (!movable_.contains(info(event.block))) {
        fixed_ += is_allocation ? info(event.block).bytes : -info(event.block).bytes;
      } else if (is_allocation) {
        pin(event.block);
      } else if (pinned_by_[static_cast<std::size_t>(event.block)] == op_) {
        pinned_ -= info(event.block).bytes;
      }
      record();
    }
  }

  void record() {
    if (fixed_ + pinned_ <= largest_.bytes) return;
    largest_ = {fixed_ + pinned_, op_, pinned_};
  }

  const Trace& trace_;
  const MovableBlocks& movable_;
  std::vector<int> pinned_by_;  // by block
  std::int64_t fixed_ = 0, pinned_ = 0;
  int op_ = -1;
  Requirement largest_;
};

}  // namespace

Requirement minimum_budget(const Trace& trace, const MovableBlocks& movable) {
  return WorkingSets(trace, movable).run();
}

std::int64_t peak_bytes(const Trace& trace) {
  // If no block may move, all existing blocks must be resident.
  const MovableBlocks none = {.minimum_bytes = std::numeric_limits<std::int64_t>::max()};
  return minimum_budget(trace, none).bytes;
}

}  // namespace tutti::lms
