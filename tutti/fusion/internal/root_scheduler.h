// Decisions of the root: the contents of the next bucket and the time at which it starts.
#pragma once

#include <cstdint>
#include <string>

#include "tutti/fusion/bucket_queue.h"
#include "tutti/fusion/negotiator.h"

namespace tutti::fusion {

// Not thread-safe. Pure.
class RootScheduler {
 public:
  // `negotiator`: the one of the root; must outlive this object.
  RootScheduler(Negotiator& negotiator, const BucketQueue::Settings& settings)
      : negotiator_(negotiator), queue_(settings) {}

  BucketQueue& queue() { return queue_; }
  // Adds a failed tensor to the next message.
  void add_failure(DownMessage::Failure failure) { down_.failures.push_back(std::move(failure)); }
  // Returns the next message for all ranks. `in_flight`: number of buckets queued or running now.
  DownMessage next(std::int64_t now, int in_flight);

 private:
  void take_ready(std::int64_t now);

  Negotiator& negotiator_;
  BucketQueue queue_;
  DownMessage down_;
  bool has_reported_left_ = false, has_ended_ = false;
};

}  // namespace tutti::fusion
