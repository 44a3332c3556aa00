// Execution of buckets in the work queue of a communicator, in the order set by the root.
#pragma once

#include <optional>

#include "tutti/comm/communicator.h"
#include "tutti/core/mutex.h"
#include "tutti/fusion/autotuner.h"
#include "tutti/fusion/bucket_queue.h"
#include "tutti/fusion/engine_statistics.h"
#include "tutti/fusion/internal/bucket_runner.h"
#include "tutti/fusion/internal/pending_tensors.h"

namespace tutti::fusion {

class SharedStatistics {
 public:
  template <typename Change>
  void update(Change change) {
    const MutexLock lock(mutex_);
    change(value_);
  }
  EngineStatistics get() const {
    const MutexLock lock(mutex_);
    return value_;
  }

 private:
  mutable Mutex mutex_;
  EngineStatistics value_ TUTTI_GUARDED_BY(mutex_);
};

// Thread-safe. All constructor arguments must outlive this object.
class BucketExecutor {
 public:
  // `tunes`: search for the best bucket size and cycle time (Autotuner).
  BucketExecutor(comm::Communicator& communicator, PendingTensors& pending, Timeline& timeline,
                 SharedStatistics& statistics, Wakeup& wakeup, bool tunes);
  // Calls drain.
  ~BucketExecutor() { drain(); }

  void start(Bucket bucket);
  // Number of buckets queued or running.
  int in_flight() const;
  // Sets the current bucket size and cycle time of the queue. Returns true if they are final.
  bool tune(BucketQueue& queue) const;
  // Blocks until all buckets have completed.
  void drain();

 private:
  void run(const Bucket& bucket);
  void perform(const Bucket& bucket);

  comm::Communicator& communicator_;
  PendingTensors& pending_;
  Timeline& timeline_;
  SharedStatistics& statistics_;
  Wakeup& wakeup_;
  BucketRunner runner_;
  mutable Mutex mutex_;
  int in_flight_ TUTTI_GUARDED_BY(mutex_) = 0;
  std::optional<Autotuner> tuner_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::fusion
