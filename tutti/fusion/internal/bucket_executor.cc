#include "tutti/fusion/internal/bucket_executor.h"

#include <utility>

#include "tutti/core/clock.h"
#include "tutti/core/log.h"
#include "tutti/core/mutex.h"
#include "tutti/fusion/internal/failure.h"

namespace tutti::fusion {
namespace {

// Samples of this size are stable, and a search takes only minutes.
constexpr std::size_t kSampleBytes = 32 << 20;
constexpr double kSampleSeconds = 0.2;

}  // namespace

BucketExecutor::BucketExecutor(comm::Communicator& communicator, PendingTensors& pending,
                               Timeline& timeline, SharedStatistics& statistics, Wakeup& wakeup,
                               bool tunes)
    : communicator_(communicator),
      pending_(pending),
      timeline_(timeline),
      statistics_(statistics),
      wakeup_(wakeup),
      runner_(communicator, timeline) {
  if (tunes) tuner_.emplace(Autotuner::Point{}, kSampleBytes, kSampleSeconds);
}

void BucketExecutor::start(Bucket bucket) {
  {
    const MutexLock lock(mutex_);
    ++in_flight_;
  }
  communicator_.queue()->start([this, bucket = std::move(bucket)] {
    run(bucket);
    return Result::ok();
  });
}

int BucketExecutor::in_flight() const {
  const MutexLock lock(mutex_);
  return in_flight_;
}

bool BucketExecutor::tune(BucketQueue& queue) const {
  const MutexLock lock(mutex_);
  if (tuner_) queue.set(tuner_->point().bucket_bytes(), tuner_->point().cycle_ns());
  return tuner_ && tuner_->is_done();
}

void BucketExecutor::drain() {
  communicator_.queue()->drain();
}

void BucketExecutor::run(const Bucket& bucket) {
  Result outcome = pending_.final_failure();
  if (outcome) outcome = outcome_of(communicator_.rank(), [&] { perform(bucket); });
  for (const auto& tensor : bucket.tensors) {
    if (tensor) pending_.complete(tensor, outcome);
  }
  if (!outcome) pending_.fail(outcome, true);
}

void BucketExecutor::perform(const Bucket& bucket) {
  const std::int64_t begin = now_ns();
  std::vector<Member> members;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < bucket.items.size(); ++i) {
    const auto& tensor = bucket.tensors[i];
    members.push_back({.report = &bucket.items[i].report,
                       .call = tensor ? &tensor->call : nullptr,
                       .gathered = tensor ? tensor->gathered.get() : nullptr});
    bytes += bucket.items[i].report.signature.bytes();
    if (tensor)
      timeline_.add(Timeline::Row::kTensors, "queue", tensor->call.name, tensor->submitted_ns,
                    begin);
  }
  runner_.run(members);
  statistics_.update([&](EngineStatistics& statistics) {
    ++statistics.buckets;
    statistics.tensors += static_cast<std::int64_t>(members.size());
    statistics.copied_bytes = runner_.copied_bytes();
  });
  {
    const MutexLock lock(mutex_);
    --in_flight_;
    if (tuner_ && tuner_->note(bytes, now_ns()) && tuner_->is_done())
      log::info("fusion: {}", tuner_->text());
  }
  wakeup_.signal();
}

}  // namespace tutti::fusion
