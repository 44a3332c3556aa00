// Decisions of the root: which tensors go together, and when.
#pragma once

#include <cstdint>
#include <string>

#include "tutti/fusion/bucket_queue.h"
#include "tutti/fusion/negotiator.h"

namespace tutti::fusion {

// For one thread. Pure.
class RootScheduler {
 public:
  // `negotiator`: of the root; must outlive this.
  RootScheduler(Negotiator& negotiator, const BucketQueue::Settings& settings)
      : negotiator_(negotiator), queue_(settings) {}

  BucketQueue& queue() { return queue_; }
  // A tensor fails in the next message.
  void add_failure(DownMessage::Failure failure) { down_.failures.push_back(std::move(failure)); }
  // What all ranks do next; `in_flight`: buckets that wait or run now.
  DownMessage next(std::int64_t now, int in_flight);

 private:
  void take_ready(std::int64_t now);

  Negotiator& negotiator_;
  BucketQueue queue_;
  DownMessage down_;
  bool has_reported_left_ = false, has_ended_ = false;
};

}  // namespace tutti::fusion
