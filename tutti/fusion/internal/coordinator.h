// The thread that finds out with the neighbours in the tree which tensors are ready on all ranks.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/fusion/internal/bucket_executor.h"
#include "tutti/fusion/internal/control_plane.h"
#include "tutti/fusion/internal/pending_tensors.h"
#include "tutti/fusion/internal/root_scheduler.h"
#include "tutti/fusion/internal/stall_watch.h"
#include "tutti/fusion/negotiator.h"

namespace tutti::fusion {

class Coordinator {
 public:
  struct Settings {
    int radix = 0;  // of the tree
    std::size_t cache_entries = 0;
    BucketQueue::Settings buckets;
    std::int64_t stall_ns = 0, timeout_ns = 0;
  };

  // Starts the thread. Everything but `settings` must outlive this.
  Coordinator(comm::Communicator& communicator, PendingTensors& pending, BucketExecutor& executor,
              SharedStatistics& statistics, Wakeup& wakeup, const Settings& settings);
  // Returns when all ranks have left (PendingTensors::leave), or one has failed.
  ~Coordinator() { thread_.join(); }

 private:
  void loop();
  // Each returns whether something happened.
  bool take_news();
  bool listen();
  bool send_up();
  bool decide();  // the root
  void handle(const std::string& bytes);
  bool is_at_end();
  void watch();

  comm::Communicator& communicator_;
  PendingTensors& pending_;
  BucketExecutor& executor_;
  SharedStatistics& statistics_;
  Wakeup& wakeup_;
  const TreePosition place_;
  Negotiator negotiator_;
  ControlPlane plane_;
  RootScheduler scheduler_;
  StallWatch stalls_;
  std::vector<bool> child_has_ended_;
  bool has_ended_ = false;  // the root has said that all have left
  std::thread thread_;
};

}  // namespace tutti::fusion
