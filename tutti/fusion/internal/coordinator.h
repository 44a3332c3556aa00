// The negotiation thread: exchanges messages with the neighbours in the tree.
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

// Owns the negotiation thread of a rank. One iteration of the loop
// 1. passes new submissions, joins and leaves to the Negotiator (take_submissions);
// 2. receives messages from the children and the parent (listen);
// 3. sends the accumulated changes to the parent (send_up), or on the root forms buckets (decide);
// 4. handles each release: forwards it to the children, expands cached entries and starts the buckets (handle);
// 5. checks for stalls and timeouts (watch).
// The thread never blocks on a reduction. Without progress it waits in Wakeup::rest.
//
// Shutdown: a rank that leaves reports it upwards. When all ranks have left, the root sends `is_end` down the tree;
// each rank forwards it, answers its parent with an empty message and exits after all its children have answered.
class Coordinator {
 public:
  struct Settings {
    int radix = 0;  // radix of the tree
    std::size_t cache_entries = 0;
    BucketQueue::Settings buckets;
    std::int64_t stall_ns = 0, timeout_ns = 0;
  };

  // Starts the thread. All arguments except `settings` must outlive this object.
  Coordinator(comm::Communicator& communicator, PendingTensors& pending, BucketExecutor& executor,
              SharedStatistics& statistics, Wakeup& wakeup, const Settings& settings);
  // Blocks until all ranks have left (PendingTensors::leave) or one has failed.
  ~Coordinator() { thread_.join(); }

 private:
  void loop();
  // Each returns true if it made progress.
  bool take_submissions();
  bool listen();
  bool send_up();
  bool decide();  // root only
  void handle(const std::string& bytes);
  bool is_at_end();
  void watch();

  comm::Communicator& communicator_;
  PendingTensors& pending_;
  BucketExecutor& executor_;
  SharedStatistics& statistics_;
  Wakeup& wakeup_;
  const TreePosition position_;
  Negotiator negotiator_;
  ControlPlane plane_;
  RootScheduler scheduler_;
  StallWatch stalls_;
  std::vector<bool> child_has_ended_;
  bool has_ended_ = false;  // the root has announced that all ranks have left
  std::thread thread_;
};

}  // namespace tutti::fusion
