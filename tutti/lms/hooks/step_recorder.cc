#include "tutti/lms/hooks/step_recorder.h"

#include <algorithm>
#include <utility>

namespace tutti::lms {

void StepRecorder::begin_step(double time) {
  for (auto& [ref, block] : live_) block.index = block.recipe = kUnused;
  persistent_.clear();
  allocated_.clear();
  operators_.clear();
  recipes_.clear();
  events_.clear();
  is_in_operator_ = false;
  step_start_ = time;
  hash_ = kHashSeed;
}

int StepRecorder::allocate(BlockRef ref, std::int64_t bytes, bool is_counted) {
  Live& block = live_[ref] = {.bytes = bytes};
  if (!is_counted) return -1;
  block.index = static_cast<int>(allocated_.size());
  allocated_.emplace_back(ref, bytes);
  add_event(EventKind::kAllocate, block);
  return block.index;
}

void StepRecorder::free(BlockRef ref) {
  const auto found = live_.find(ref);
  if (found == live_.end()) return;
  // A persistent block that the step has not used has no index yet.
  persistent_index(ref, found->second);
  add_event(EventKind::kFree, found->second);
  live_.erase(found);
}

int StepRecorder::persistent_index(BlockRef ref, Live& block) {
  if (block.index == kUnused) {
    persistent_.emplace_back(ref, block.bytes);
    block.index = -1 - static_cast<int>(persistent_.size());
  }
  return block.index;
}

void StepRecorder::add_event(EventKind kind, const Live& block) {
  (is_in_operator_ ? operators_.back().events : events_).push_back({kind, block.index});
  hash_ = extend_hash(hash_, std::uint64_t(kind == EventKind::kFree));
  hash_ = extend_hash(hash_, std::uint64_t(block.bytes));
}

void StepRecorder::begin_operator(std::string_view name, Phase phase, std::uint64_t shapes,
                                  double time) {
  Operator& op = operators_.emplace_back();
  op.name = name;
  op.phase = phase;
  op.start = op.end = std::max(0.0, time - step_start_);
  if (operators_.size() > 1) op.start = std::max(op.start, operators_[operators_.size() - 2].end);
  op.events_before = std::exchange(events_, {});
  hash_ = extend_hash(extend_hash(hash_, name), shapes);
  is_in_operator_ = true;
}

void StepRecorder::use(BlockRef ref) {
  const auto found = live_.find(ref);
  if (found == live_.end() || !is_in_operator_) return;
  const int index = persistent_index(ref, found->second);
  Operator& op = operators_.back();
  // Blocks that the operator allocates do not count as uses.
  for (const MemoryEvent& event : op.events)
    if (event.block == index) return;
  if (std::find(op.uses.begin(), op.uses.end(), index) == op.uses.end()) op.uses.push_back(index);
}

void StepRecorder::modify(BlockRef ref) {
  const auto found = live_.find(ref);
  if (found == live_.end() || !is_in_operator_) return;
  Live& block = found->second;
  if (block.recipe >= 0) {
    Recipe& former = recipes_[static_cast<std::size_t>(block.recipe)];
    if (former.op == operator_count() - 1) former.is_final = false;
    block.recipe = -1;
  }
  auto& modified = operators_.back().modifies;
  const int index = persistent_index(ref, block);
  if (std::find(modified.begin(), modified.end(), index) == modified.end())
    modified.push_back(index);
}

std::optional<std::vector<Recipe::Input>> StepRecorder::contents_of(
    std::span<const BlockRef> refs) {
  std::vector<Recipe::Input> contents;
  for (const BlockRef& ref : refs) {
    const auto found = live_.find(ref);
    if (found == live_.end()) return {};
    contents.push_back({persistent_index(ref, found->second), found->second.recipe});
  }
  return contents;
}

int StepRecorder::add_recipe(BlockRef output, std::vector<Recipe::Input> inputs) {
  const auto found = live_.find(output);
  if (found == live_.end() || !is_in_operator_ || found->second.index < 0) return -1;
  modify(output);
  found->second.recipe = static_cast<int>(recipes_.size());
  recipes_.push_back({found->second.index, operator_count() - 1, std::move(inputs)});
  return found->second.recipe;
}

void StepRecorder::end_operator(double time) {
  if (!is_in_operator_) return;
  Operator& op = operators_.back();
  op.end = std::max(op.start, time - step_start_);
  op.hash = hash_;
  is_in_operator_ = false;
}

std::vector<BlockRef> StepRecorder::live() const {
  std::vector<BlockRef> refs;
  refs.reserve(live_.size());
  for (const auto& [ref, block] : live_) refs.push_back(ref);
  return refs;
}

RecordedStep StepRecorder::finish_step(double time) {
  if (is_in_operator_) end_operator(time);
  for (auto& [ref, block] : live_)
    if (block.index == kUnused) persistent_.emplace_back(ref, block.bytes);
  RecordedStep step;
  for (const auto& [ref, bytes] : persistent_) {
    Block& block = step.trace.blocks.emplace_back();
    block.bytes = bytes;
    block.is_persistent = true;
    step.refs.push_back(ref);
  }
  for (const auto& [ref, bytes] : allocated_) {
    step.trace.blocks.emplace_back().bytes = bytes;
    step.refs.push_back(ref);
  }
  const int persistents = static_cast<int>(persistent_.size());
  const auto final_index = [&](int index) { return index >= 0 ? persistents + index : -2 - index; };
  const auto renumber = [&](std::vector<MemoryEvent>& events) {
    for (MemoryEvent& event : events) event.block = final_index(event.block);
  };
  for (Operator& op : operators_) {
    renumber(op.events_before);
    renumber(op.events);
    for (int& block : op.uses) block = final_index(block);
    std::sort(op.uses.begin(), op.uses.end());
    for (int& block : op.modifies) block = final_index(block);
    std::sort(op.modifies.begin(), op.modifies.end());
    // Blocks that the operator has allocated are not among its uses.
    std::erase_if(op.modifies, [&](int block) {
      return !std::binary_search(op.uses.begin(), op.uses.end(), block);
    });
  }
  for (Recipe& recipe : recipes_) {
    recipe.block = final_index(recipe.block);
    for (Recipe::Input& input : recipe.inputs) input.block = final_index(input.block);
  }
  step.trace.recipes = std::move(recipes_);
  renumber(events_);
  step.trace.operators = std::move(operators_);
  step.trace.events_after = std::move(events_);
  step.trace.duration = time - step_start_;
  if (!step.trace.operators.empty())
    step.trace.duration = std::max(step.trace.duration, step.trace.operators.back().end);
  begin_step(time);
  return step;
}

}  // namespace tutti::lms
