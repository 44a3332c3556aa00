// A communicator from the inside.
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
  // Collective over `ranks` (of the job's transport). `id` is the same on all of them and on nobody
  // else.
  CommunicatorState(std::shared_ptr<Job> job, std::vector<int> ranks, int rank, int id);
  ~CommunicatorState();

  // Runs the operation on the calling thread, after those given before. Throws its failure.
  void perform(Operation operation);
  // Runs it in the queue. The operation owns its name.
  Work start(Operation operation);
  // Runs `body`, made of operations of other communicators, in the queue. The others see it as
  // `operation`, so that ranks which do something else are noticed.
  Work start_as(Operation operation, const std::string& name, std::function<void()> body);
  // Throws the failure of this or another rank.
  void check();
  // Mode p: measures the choices that the options leave open, or reads them. Collective.
  void tune();
  // From now on tells of operations what the options ask for.
  void add_observers();

  const ForkGuard fork_guard;
  std::shared_ptr<Job> job;
  const std::vector<int> ranks;  // of the transport, by rank of this communicator
  const int rank;
  const int id;
  Router router;
  SetUp set_up;
  const topo::Layout layout;
  topo::Grid grid;
  std::string tuning;  // where the measured choices come from, for people
  std::unique_ptr<Watchdog> watch;
  std::unique_ptr<HostGroup> host;
  std::unique_ptr<Membership> membership;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Planner> planner;
  std::shared_ptr<CompressedReducer> compressed;  // made by the first compressed call
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
  std::unique_ptr<SelfCheck> self_check_;  // with option check only
  std::unique_ptr<PlanRunner> plans_;
  Observers observers_;
};

}  // namespace tutti::comm
