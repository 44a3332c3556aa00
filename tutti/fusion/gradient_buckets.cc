#include "tutti/fusion/gradient_buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tutti/comm/transport/shm/arena.h"
#include "tutti/core/mutex.h"

// All gradients are in one block of library memory, bucket after bucket in the order in which the backward pass
// computes them. A program writes gradient i and calls mark_ready(i). When all gradients of a bucket are ready, for the
// last of the backward passes, the bucket is submitted to the engine as one tensor `<name>.<b>` and reduced in place
// while the backward pass continues. synchronize() submits the remaining buckets, waits for all of them and begins the
// next step.
namespace tutti::fusion {

GradientBuckets::GradientBuckets(Engine& engine, const std::vector<GradientSize>& sizes,
                                 const Settings& settings)
    : engine_(engine),
      arena_(engine.arena()),
      settings_(settings),
      schedule_(sizes, settings.limits, BucketSchedule::Order::kAsReady,
                [this](std::size_t b) { submit(b); }),
      gradients_(sizes.size()) {
  schedule_.begin(settings.passes);
  std::size_t bytes = 0;
  for (const PlannedBucket& plan : schedule_.buckets()) {
    memories_.push_back({nullptr, plan.count, plan.dtype});
    bytes += memories_.back().bytes();
  }
  works_.resize(memories_.size());
  memory_ = static_cast<std::byte*>(arena_->allocate(std::max<std::size_t>(bytes, 1), 64));
  std::memset(memory_, 0, bytes);
  std::byte* at = memory_;
  for (std::size_t b = 0; b < memories_.size(); ++b) {
    memories_[b].data = at;
    at += memories_[b].bytes();
    const PlannedBucket& plan = schedule_.buckets()[b];
    for (std::size_t m = 0; m < plan.members.size(); ++m) {
      const std::size_t i = plan.members[m];
      gradients_[i] = memories_[b].slice(plan.offsets[m], sizes[i].count);
    }
  }
}

GradientBuckets::~GradientBuckets() {
  for (const comm::Work& work : works_) {
    try {
      work.wait();
    } catch (const Error&) {
      // Callers that needed the result have already received the error.
    }
  }
  arena_->free(memory_);
}

void GradientBuckets::set_passes(int passes) {
  const MutexLock lock(mutex_);
  schedule_.begin(passes);
  settings_.passes = passes;
}

void GradientBuckets::mark_ready(std::size_t i) {
  const MutexLock lock(mutex_);
  schedule_.mark_ready(i);
}

// The last bucket has the highest priority: the next forward pass needs its gradients first.
void GradientBuckets::submit(std::size_t b) {
  std::vector<Tensor> tensors = {{memories_[b], memories_[b]}};
  if (settings_.kind == Kind::kAdasum) {  // combines each gradient separately
    tensors.clear();
    for (const std::size_t i : schedule_.buckets()[b].members)
      tensors.push_back({gradients_[i], gradients_[i]});
  }
  works_[b] = engine_
                  .submit({.name = fmt::format("{}.{}", settings_.name, b),
                           .kind = settings_.kind,
                           .tensors = std::move(tensors),
                           .op = settings_.op,
                           .prescale = settings_.prescale,
                           .postscale = settings_.postscale,
                           .compression = settings_.compression,
                           .priority = static_cast<int>(works_.size() - b),
                           .no_fusion = true})
                  .work;
}

void GradientBuckets::synchronize() {
  {
    const MutexLock lock(mutex_);
    schedule_.start_rest();
  }
  for (const comm::Work& work : works_) work.wait();
  const MutexLock lock(mutex_);
  schedule_.begin(settings_.passes);
}

bool GradientBuckets::is_reducing() const {
  const MutexLock lock(mutex_);
  return schedule_.has_begun();
}

}  // namespace tutti::fusion
