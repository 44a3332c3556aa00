// The thread that runs buckets, in the order in which they came.
#include <fmt/format.h>

#include "tutti/core/clock.h"
#include "tutti/core/log.h"
#include "tutti/fusion/internal/engine_impl.h"

namespace tutti::fusion {

void EngineImpl::work() {
  log::set_tag(fmt::format("rank {}", place_.rank));
  for (;;) {
    Bucket bucket;
    Result failure = Result::ok();
    {
      std::unique_lock lock(mutex_);
      work_changed_.wait(lock, [&] { return !buckets_.empty() || has_ended_ || has_failed_; });
      if (buckets_.empty()) return;
      bucket = std::move(buckets_.front());
      buckets_.pop_front();
      if (has_failed_) failure = failure_;
    }
    if (failure) {
      try {
        run(bucket);
      } catch (const Error& error) {
        failure = Result::from(error);
      } catch (const std::exception& error) {
        failure = Result::failure(
            ErrorKind::kComm, "DDL-4-76",
            fmt::format("The fusion engine of rank {} has failed: {}.", place_.rank, error.what()));
      }
    }
    for (const auto& entry : bucket.entries) {
      if (entry) complete(entry, failure);
    }
    if (!failure) fail(failure, true);
  }
}

void EngineImpl::run(const Bucket& bucket) {
  const std::int64_t begin = now_ns();
  std::vector<Member> members;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < bucket.items.size(); ++i) {
    const auto& entry = bucket.entries[i];
    members.push_back({.report = &bucket.items[i].report,
                       .call = entry ? &entry->call : nullptr,
                       .gathered = entry ? entry->gathered.get() : nullptr});
    bytes += bucket.items[i].report.signature.bytes();
    if (entry)
      timeline_.add(Timeline::Row::kTensors, "queue", entry->call.name, entry->submitted_ns, begin);
  }
  runner_.run(members);
  const std::lock_guard lock(mutex_);
  --under_way_;
  ++statistics_.buckets;
  statistics_.tensors += static_cast<std::int64_t>(members.size());
  statistics_.copied_bytes = runner_.copied_bytes();
  if (tuner_ && tuner_->note(bytes, now_ns()) && tuner_->is_done())
    log::info("fusion: {}", tuner_->text());
  wake_talker();
}

}  // namespace tutti::fusion
