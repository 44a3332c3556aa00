// Execution of buckets in the queue of a communicator, in the order in which the root gave them.
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

// Safe from every thread. Everything that it is given must outlive it.
class BucketExecutor {
 public:
  // `tunes`: finds the size of buckets and the cycle time.
  BucketExecutor(comm::Communicator& communicator, PendingTensors& pending, Timeline& timeline,
                 SharedStatistics& statistics, Wakeup& wakeup, bool tunes);
  // As drain.
  ~BucketExecutor() { drain(); }

  void start(Bucket bucket);
  // Buckets that wait or run.
  int in_flight() const;
  // Sets the size and time that are to be used now. True: they will not change any more.
  bool tune(BucketQueue& queue) const;
  // Returns when all buckets are through.
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
