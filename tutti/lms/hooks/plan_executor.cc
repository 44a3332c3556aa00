#include "tutti/lms/hooks/plan_executor.h"

#include <algorithm>

#include "tutti/core/clock.h"

namespace tutti::lms {
namespace {

constexpr double kShortestWait = 50e-6;  // seconds; below that a read counts as in time

}  // namespace

void PlanExecutor::begin_step(PlannedStep* planned, bool moves_persistent) {
  planned_ = planned;
  delayed_.clear();
  lateness_.clear();
  triggers_.clear();
  if (!planned) return;
  const Trace& trace = planned->step.trace;
  const auto count = static_cast<int>(trace.operators.size());
  if (count == 0) {
    planned_ = nullptr;
    return;
  }
  triggers_.resize(static_cast<std::size_t>(count));
  // Indices beyond the step are operators of the next one, negative ones of the last one.
  const auto triggers_of = [&](int index) -> Triggers& {
    return triggers_[static_cast<std::size_t>((index % count + count) % count)];
  };
  persistents_ = 0;
  for (const Block& block : trace.blocks) persistents_ += block.is_persistent;
  for (int i = 0; i < static_cast<int>(planned->plan.decisions.size()); ++i) {
    const Decision& decision = planned->plan.decisions[static_cast<std::size_t>(i)];
    // Recomputation and codecs are not executed: such blocks are swapped as they are.
    triggers_of(decision.write_after).write.push_back(i);
    triggers_of(decision.free_by).free.push_back(i);
    if (!decision.is_needed) continue;
    triggers_of(decision.read_before).read.push_back(i);
    triggers_of(decision.next_use).need.push_back(i);
  }
  add_next_uses(moves_persistent);
  // Blocks of the last step that are allocated in this one have no reference yet.
  for (std::size_t i = static_cast<std::size_t>(persistents_); i < planned->step.refs.size(); ++i)
    planned->step.refs[i] = {};
}

// For each operator the next use of its blocks, from the last operator to the first.
void PlanExecutor::add_next_uses(bool moves_persistent) {
  const Trace& trace = planned_->step.trace;
  const auto count = static_cast<std::int64_t>(trace.operators.size());
  std::vector<std::int64_t> next(trace.blocks.size(), Pager::kNever);
  for (std::size_t i = 0; i < trace.blocks.size(); ++i)
    if (trace.blocks[i].is_persistent) next[i] = moves_persistent ? 2 * count : -1;
  for (std::int64_t i = count - 1; i >= 0; --i) {
    const Operator& op = trace.operators[static_cast<std::size_t>(i)];
    auto& uses = triggers_[static_cast<std::size_t>(i)].next_uses;
    for (const MemoryEvent& event : op.events)
      if (event.kind == EventKind::kAllocate)
        uses.emplace_back(event.block, next[static_cast<std::size_t>(event.block)]);
    for (const int block : op.uses) {
      std::int64_t& time = next[static_cast<std::size_t>(block)];
      uses.emplace_back(block, time);
      if (time != -1) time = i + 1;
    }
  }
}

BlockRef PlanExecutor::ref_of(int decision) const {
  const int block = planned_->plan.decisions[static_cast<std::size_t>(decision)].block;
  return planned_->step.refs[static_cast<std::size_t>(block)];
}

void PlanExecutor::bind(int ordinal, BlockRef ref, std::int64_t bytes) {
  if (!planned_ || ordinal < 0) return;
  const auto index = static_cast<std::size_t>(persistents_ + ordinal);
  if (index >= planned_->step.refs.size() || planned_->step.trace.blocks[index].bytes != bytes) {
    planned_ = nullptr;
    return;
  }
  planned_->step.refs[index] = ref;
}

void PlanExecutor::before_operator(int index) {
  if (!planned_) return;
  if (index >= static_cast<int>(triggers_.size())) {
    planned_ = nullptr;
    return;
  }
  pager_.poll();
  const Triggers& triggers = triggers_[static_cast<std::size_t>(index)];
  for (const int i : triggers.free) pager_.finish_page_out(ref_of(i));
  delayed_.insert(delayed_.end(), triggers.read.begin(), triggers.read.end());
  std::erase_if(delayed_, [&](int i) { return pager_.prefetch(ref_of(i)); });
  for (const int i : triggers.need) {
    const Stopwatch watch;
    pager_.finish_read(ref_of(i));
    if (watch.seconds() < kShortestWait) continue;
    const Decision& decision = planned_->plan.decisions[static_cast<std::size_t>(i)];
    lateness_.push_back({decision.block, decision.next_use, watch.seconds()});
  }
}

void PlanExecutor::after_operator(int index, std::uint64_t hash) {
  if (!planned_) return;
  if (planned_->step.trace.operators[static_cast<std::size_t>(index)].hash != hash) {
    planned_ = nullptr;
    return;
  }
  const Triggers& triggers = triggers_[static_cast<std::size_t>(index)];
  for (const auto& [block, time] : triggers.next_uses)
    pager_.set_next_use(planned_->step.refs[static_cast<std::size_t>(block)], time);
  for (const int i : triggers.write) pager_.page_out(ref_of(i));
}

}  // namespace tutti::lms
