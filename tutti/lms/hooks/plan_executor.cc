#include "tutti/lms/hooks/plan_executor.h"

#include <algorithm>

#include "tutti/core/clock.h"
#include "tutti/lms/codec.h"
#include "tutti/lms/lifetimes.h"
#include "tutti/lms/pager/encoded_block.h"
#include "tutti/lms/recompute.h"

namespace tutti::lms {
namespace {

constexpr double kShortestWait = 50e-6;  // seconds; below that a read counts as in time

}  // namespace

void PlanExecutor::begin_step(PlannedStep* planned, bool moves_persistent) {
  planned_ = planned;
  delayed_.clear();
  triggers_.clear();
  findings_ = {};
  calls_.clear();
  recipe_of_.clear();
  unverified_.clear();
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
  add_chains();
  for (int i = 0; i < static_cast<int>(planned->plan.decisions.size()); ++i) {
    const Decision& decision = planned->plan.decisions[static_cast<std::size_t>(i)];
    triggers_of(decision.write_after).write.push_back(i);
    if (decision.action == Action::kRecompute) {
      triggers_of(decision.next_use).recompute.push_back(i);
      if (is_dropped(i)) continue;
    }
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

// Determines the next uses of the blocks of each operator, from the last operator to the first.
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

// Collects the calls that the plan needs, with the number of users of each.
void PlanExecutor::add_chains() {
  const Trace& trace = planned_->step.trace;
  const auto lifetimes = lifetimes_of(trace);
  const RecomputeRules rules(trace, lifetimes);
  for (int i = 0; i < static_cast<int>(planned_->plan.decisions.size()); ++i) {
    const Decision& decision = planned_->plan.decisions[static_cast<std::size_t>(i)];
    if (decision.action != Action::kRecompute) continue;
    const auto chain = rules.chain(decision.block, decision.next_use);
    if (!chain) continue;
    for (const int index : chain->recipes) {
      const auto& inputs = trace.recipes[static_cast<std::size_t>(index)].inputs;
      for (std::size_t n = 0; n < inputs.size(); ++n) {
        const bool is_produced =
            std::find(chain->recipes.begin(), chain->recipes.end(), inputs[n].recipe) !=
                chain->recipes.end() &&
            !std::binary_search(chain->inputs.begin(), chain->inputs.end(), inputs[n].block);
        if (is_produced && calls_[index].produced.insert(n).second)
          ++calls_[inputs[n].recipe].users;
      }
    }
    ++calls_[chain->recipes.back()].users;
    recipe_of_[i] = chain->recipes.back();
  }
}

void PlanExecutor::add_call(int recipe, const MakeCall& make_call) {
  if (!planned_) return;
  const auto found = calls_.find(recipe);
  if (found == calls_.end()) return;
  const auto& inputs = planned_->step.trace.recipes[static_cast<std::size_t>(recipe)].inputs;
  std::map<std::size_t, std::shared_ptr<const OperatorCall>> producers;
  bool is_complete = true;
  for (const std::size_t n : found->second.produced) {
    producers[n] = take_call(inputs[n].recipe);
    is_complete &= producers[n] != nullptr;
  }
  if (!is_complete) return;
  found->second.call = make_call([&](std::size_t n) -> std::shared_ptr<const OperatorCall> {
    const auto producer = producers.find(n);
    return producer != producers.end() ? producer->second : nullptr;
  });
}

// Returns the call of a recipe for one of its users. The last user takes ownership, so the arguments are freed as early
// as possible.
std::shared_ptr<const OperatorCall> PlanExecutor::take_call(int recipe) {
  const auto found = calls_.find(recipe);
  if (found == calls_.end()) return nullptr;
  Call& call = found->second;
  return --call.users > 0 ? call.call : std::exchange(call.call, nullptr);
}

// True if the block of the decision is recomputed by a verified call.
bool PlanExecutor::is_dropped(int decision) const {
  const auto recipe = recipe_of_.find(decision);
  return recipe != recipe_of_.end() && planned_->verified.contains(recipe->second);
}

// Removes the block of a decision from memory: drops it if it can be recomputed, else writes it.
void PlanExecutor::leave(int decision) {
  const BlockRef ref = ref_of(decision);
  if (const auto recipe = recipe_of_.find(decision); recipe != recipe_of_.end()) {
    auto call = take_call(recipe->second);
    if (!is_dropped(decision))
      unverified_[decision] = std::move(call);
    else if (call && recomputer_.drop(ref, std::move(call)))
      return;
  }
  pager_.page_out(ref, encoding_of(decision));
}

Encoding PlanExecutor::encoding_of(int decision) const {
  const Decision& planned = planned_->plan.decisions[static_cast<std::size_t>(decision)];
  const Block& block = planned_->step.trace.blocks[static_cast<std::size_t>(planned.block)];
  return {planned.codec, stored_size(block, planned.codec)};
}

// Chooses an encoding from a sample in the middle of the block, for the plans of the next steps.
void PlanExecutor::sample(int block) {
  const BlockRef ref = planned_->step.refs[static_cast<std::size_t>(block)];
  const std::int64_t bytes = pager_.bytes_of(ref);
  if (bytes == 0) return;
  const std::int64_t size = std::min(bytes, kPieceBytes);
  const std::int64_t begin = (bytes - size) / 2 / Pager::kPageBytes * Pager::kPageBytes;
  pager_.pin({&ref, 1});
  Encoding encoding =
      choose_codec({pager_.address_of(ref) + begin, static_cast<std::size_t>(size)});
  pager_.unpin({&ref, 1});
  const double ratio = static_cast<double>(encoding.bytes) / static_cast<double>(size);
  encoding.bytes = static_cast<std::int64_t>(ratio * static_cast<double>(bytes));
  findings_.encodings[block] = encoding;
}

void PlanExecutor::recompute(int decision) {
  const BlockRef ref = ref_of(decision);
  if (is_dropped(decision)) return recomputer_.restore(ref);
  const auto found = unverified_.find(decision);
  if (found == unverified_.end()) return;
  const std::shared_ptr<const OperatorCall> call = std::move(found->second);
  unverified_.erase(found);
  const bool is_verified = call && recomputer_.reproduces(*call, ref);
  (is_verified ? findings_.verified : findings_.failed).push_back(recipe_of_.at(decision));
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
    findings_.lateness.push_back({decision.block, decision.next_use, watch.seconds()});
  }
  for (const int i : triggers.recompute) recompute(i);
}

void PlanExecutor::after_operator(int index, std::uint64_t hash) {
  if (!planned_) return;
  if (planned_->step.trace.operators[static_cast<std::size_t>(index)].hash != hash) {
    planned_ = nullptr;
    return;
  }
  const Triggers& triggers = triggers_[static_cast<std::size_t>(index)];
  for (const auto& [block, time] : triggers.next_uses) {
    pager_.set_next_use(planned_->step.refs[static_cast<std::size_t>(block)], time);
    if (compacts_ && !planned_->is_sampled && time > index + 1) sample(block);
  }
  for (const int i : triggers.write) leave(i);
}

}  // namespace tutti::lms
