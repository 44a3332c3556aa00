// Implementation of Engine: pending tensors, the negotiation thread and the execution of buckets.
#pragma once

#include <memory>

#include "tutti/fusion/internal/bucket_executor.h"
#include "tutti/fusion/internal/coordinator.h"
#include "tutti/fusion/internal/pending_tensors.h"

namespace tutti::fusion {

class EngineImpl {
 public:
  EngineImpl(comm::Communicator& communicator, const Options& options);
  ~EngineImpl();

  PendingTensors& pending() { return pending_; }
  EngineStatistics statistics() const { return statistics_.get(); }
  void check() const;
  comm::Communicator& communicator() { return *communicator_; }
  Timeline& timeline() { return timeline_; }

 private:
  void stop_timeline();

  const std::unique_ptr<comm::Communicator> communicator_;
  Timeline timeline_;
  SharedStatistics statistics_;
  Wakeup wakeup_;
  PendingTensors pending_;
  BucketExecutor executor_;
  Coordinator coordinator_;  // stops first, then the executor
};

}  // namespace tutti::fusion
