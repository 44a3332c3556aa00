#include "tutti/lms/internal/workspace.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace tutti::lms {
namespace {

std::size_t slot(int index) {
  return static_cast<std::size_t>(index);
}

// Blocks that an operator allocates and frees.
std::set<int> workspace_of(const Operator& op) {
  std::set<int> allocated, workspace;
  for (const MemoryEvent& event : op.events) {
    if (event.kind == EventKind::kAllocate)
      allocated.insert(event.block);
    else if (allocated.contains(event.block))
      workspace.insert(event.block);
  }
  return workspace;
}

// The events of an operator without the numbers of blocks.
std::vector<std::pair<EventKind, bool>> pattern_of(const Operator& op) {
  const std::set<int> workspace = workspace_of(op);
  std::vector<std::pair<EventKind, bool>> pattern;
  for (const MemoryEvent& event : op.events)
    pattern.emplace_back(event.kind, workspace.contains(event.block));
  return pattern;
}

// Writes a trace again, with the blocks in the order of their allocation.
class Merger {
 public:
  explicit Merger(Trace& trace) : trace_(trace), numbers_(trace.blocks.size(), -1) {
    for (std::size_t block = 0; block < trace.blocks.size(); ++block)
      if (trace.blocks[block].is_persistent) add(static_cast<int>(block));
  }

  std::vector<int> run(const std::vector<bool>& is_merged) {
    std::vector<int> merged;
    for (std::size_t index = 0; index < trace_.operators.size(); ++index) {
      Operator& op = trace_.operators[index];
      renumber(op.events_before);
      if (is_merged[index])
        merged.push_back(merge(op));
      else
        renumber(op.events);
      for (std::vector<int>* const blocks : {&op.uses, &op.modifies}) {
        for (int& block : *blocks) block = numbers_[slot(block)];
        std::ranges::sort(*blocks);
      }
    }
    renumber(trace_.events_after);
    for (Recipe& recipe : trace_.recipes) {
      recipe.is_final &= !removed_.contains(recipe.block);
      recipe.block = numbers_[slot(recipe.block)];
      for (Recipe::Input& input : recipe.inputs) input.block = numbers_[slot(input.block)];
    }
    trace_.blocks = std::move(blocks_);
    return merged;
  }

 private:
  void add(int block) {
    numbers_[slot(block)] = static_cast<int>(blocks_.size());
    blocks_.push_back(trace_.blocks[slot(block)]);
  }

  void renumber(std::vector<MemoryEvent>& events) {
    for (MemoryEvent& event : events) {
      if (event.kind == EventKind::kAllocate) add(event.block);
      event.block = numbers_[slot(event.block)];
    }
  }

  int merge(Operator& op) {
    const std::set<int> workspace = workspace_of(op);
    const int merged = static_cast<int>(blocks_.size());
    blocks_.push_back({.bytes = 1});
    std::int64_t bytes = 0;
    std::vector<MemoryEvent> events = {{EventKind::kAllocate, merged}};
    for (const MemoryEvent& event : op.events) {
      const bool is_allocation = event.kind == EventKind::kAllocate;
      if (workspace.contains(event.block)) {
        bytes += is_allocation ? trace_.blocks[slot(event.block)].bytes
                               : -trace_.blocks[slot(event.block)].bytes;
        blocks_[slot(merged)].bytes = std::max(blocks_[slot(merged)].bytes, bytes);
        numbers_[slot(event.block)] = merged;
        removed_.insert(event.block);
        continue;
      }
      if (is_allocation) add(event.block);
      events.push_back({event.kind, numbers_[slot(event.block)]});
    }
    events.push_back({EventKind::kFree, merged});
    op.events = std::move(events);
    return merged;
  }

  Trace& trace_;
  std::vector<int> numbers_;  // new number of each block
  std::vector<Block> blocks_;
  std::set<int> removed_;  // former numbers of workspace that was merged
};

}  // namespace

std::vector<int> merge_different_workspaces(Trace& left, Trace& right) {
  if (left.operators.size() != right.operators.size()) return {};
  std::vector<bool> is_merged(left.operators.size());
  for (std::size_t index = 0; index < left.operators.size(); ++index)
    is_merged[index] = pattern_of(left.operators[index]) != pattern_of(right.operators[index]);
  if (std::ranges::find(is_merged, true) == is_merged.end()) return {};
  std::vector<int> merged = Merger(left).run(is_merged);
  const std::vector<int> others = Merger(right).run(is_merged);
  return merged == others ? merged : std::vector<int>{};  // else the traces differ otherwise, too
}

}  // namespace tutti::lms
