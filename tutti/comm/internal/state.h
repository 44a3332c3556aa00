// State of a communicator.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tutti/comm/execution/plan_runner.h"
#include "tutti/comm/execution/self_check.h"
#include "tutti/comm/faults/fork_guard.h"
#include "tutti/comm/faults/watchdog.h"
#include "tutti/comm/internal/job.h"
#include "tutti/comm/internal/observers.h"
#include "tutti/comm/internal/point_to_point.h"
#include "tutti/comm/internal/set_up.h"
#include "tutti/comm/transport/router.h"
#include "tutti/comm/work_queue.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

class CompressedReducer;

struct CommunicatorState {
  // Collective over `ranks` of the transport of the job. `id` is the same on all of them and unique in the job.
  CommunicatorState(std::shared_ptr<Job> job, std::vector<int> ranks, int rank, int id);
  ~CommunicatorState();

  // Runs the operation on the calling thread, after all earlier ones. Throws its failure.
  void perform(Operation operation);
  // Runs the operation in the queue. The operation owns its name.
  Work start(Operation operation);
  // Runs `body`, which consists of operations of other communicators, in the queue. Other ranks see it as `operation`,
  // so a mismatch is detected.
  Work start_as(Operation operation, const std::string& name, std::function<void()> body);
  // Throws the failure of this or another rank.
  void check();
  // Mode p: measures the choices that the options leave open, or reads them from the cache. Collective.
  void tune();
  // Enables the reports that the options request.
  void add_observers();

  const ForkGuard fork_guard;
  std::shared_ptr<Job> job;
  const std::vector<int> ranks;  // transport ranks, by rank of this communicator
  const int rank;
  const int id;
  Router router;
  SetUp set_up;
  const topo::Layout layout;
  topo::Grid grid;
  std::string tuning;  // origin of the measured choices, human-readable
  std::unique_ptr<Watchdog> watch;
  std::unique_ptr<HostGroup> host;
  std::unique_ptr<Membership> membership;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Planner> planner;
  std::shared_ptr<CompressedReducer> compressed;  // created by the first compressed call
  std::shared_ptr<WorkQueue> queue;
  std::unique_ptr<PointToPoint> point_to_point;

 private:
  Result run(const Operation& operation);
  Result run_one(const Operation& operation);
  FlightEntry enter(const Operation& operation);
  void leave(const FlightEntry& entry);
  Result fail(Result outcome);

  Mutex mutex_;  // held while an operation runs
  std::uint64_t sequence_ = 0;
  std::unique_ptr<SelfCheck> self_check_;  // only with option `check`
  std::unique_ptr<PlanRunner> plans_;
  Observers observers_;
};

}  // namespace tutti::comm
