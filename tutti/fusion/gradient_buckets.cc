#include "tutti/fusion/gradient_buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tutti/comm/base/require.h"
#include "tutti/comm/transport/shm/arena.h"

namespace tutti::comm::fusion {

GradientBuckets::GradientBuckets(Engine& engine, const std::vector<GradientSize>& sizes,
                                 const Settings& settings)
    : engine_(engine),
      arena_(engine.arena()),
      settings_(settings),
      gradients_(sizes.size()),
      bucket_of_(sizes.size()),
      passes_left_(sizes.size()) {
  std::size_t bytes = 0;
  for (PlannedBucket& plan : plan_buckets(sizes, settings.bucket_bytes, settings.first_bytes)) {
    State& state = buckets_.emplace_back();
    state.memory = {nullptr, plan.count, plan.dtype};
    state.plan = std::move(plan);
    bytes += state.memory.bytes();
  }
  memory_ = static_cast<std::byte*>(arena_->allocate(std::max<std::size_t>(bytes, 1), 64));
  std::memset(memory_, 0, bytes);
  std::byte* at = memory_;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    State& state = buckets_[b];
    state.memory.data = at;
    at += state.memory.bytes();
    for (std::size_t m = 0; m < state.plan.members.size(); ++m) {
      const std::size_t i = state.plan.members[m];
      gradients_[i] = state.memory.slice(state.plan.offsets[m], sizes[i].count);
      bucket_of_[i] = b;
    }
  }
  reset();
}

GradientBuckets::~GradientBuckets() {
  for (const State& state : buckets_) {
    try {
      state.work.wait();
    } catch (const Error&) {
      // Whoever wanted the result has heard of it, or nobody does.
    }
  }
  arena_->free(memory_);
}

void GradientBuckets::reset() {
  for (State& state : buckets_) {
    state.missing = state.plan.members.size();
    state.is_submitted = false;
  }
  std::fill(passes_left_.begin(), passes_left_.end(), settings_.passes);
}

void GradientBuckets::set_passes(int passes) {
  require(passes >= 1, "There must be at least one backward pass per step, not {}.", passes);
  const std::lock_guard lock(mutex_);
  settings_.passes = passes;
  reset();
}

void GradientBuckets::mark_ready(std::size_t i) {
  const std::lock_guard lock(mutex_);
  require(
      passes_left_.at(i) > 0,
      "Gradient {} was computed more than {} times in one step: call step() or synchronize(), or "
      "raise backward_passes_per_step.",
      i, settings_.passes);
  if (--passes_left_[i] > 0) return;
  if (--buckets_[bucket_of_[i]].missing == 0) submit(bucket_of_[i]);
}

// The bucket that came last holds what the next forward pass needs first.
void GradientBuckets::submit(std::size_t b) {
  State& state = buckets_[b];
  state.is_submitted = true;
  std::vector<Tensor> tensors = {{state.memory, state.memory}};
  if (settings_.kind == Kind::kAdasum) {  // looks at each gradient by itself
    tensors.clear();
    for (const std::size_t i : state.plan.members)
      tensors.push_back({gradients_[i], gradients_[i]});
  }
  state.work = engine_
                   .submit({.name = fmt::format("{}.{}", settings_.name, b),
                            .kind = settings_.kind,
                            .tensors = std::move(tensors),
                            .op = settings_.op,
                            .prescale = settings_.prescale,
                            .postscale = settings_.postscale,
                            .compression = settings_.compression,
                            .priority = static_cast<int>(buckets_.size() - b),
                            .is_alone = true})
                   .work;
}

void GradientBuckets::synchronize() {
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      if (!buckets_[b].is_submitted) submit(b);
    }
  }
  for (const State& state : buckets_) state.work.wait();
  const std::lock_guard lock(mutex_);
  reset();
}

bool GradientBuckets::is_reducing() const {
  const std::lock_guard lock(mutex_);
  for (const int left : passes_left_) {
    if (left != settings_.passes) return true;
  }
  return false;
}

}  // namespace tutti::comm::fusion
