// Final barrier of a job: waits until all ranks have reached the end.
#pragma once

#include <memory>

#include "tutti/comm/faults/membership.h"
#include "tutti/comm/faults/monitor.h"
#include "tutti/comm/faults/watchdog.h"
#include "tutti/comm/transport/shm/host_group.h"

namespace tutti::comm {

// Ranks may finish far apart: rank 0 often saves the model while the others are done. MPI_Finalize needs all of them,
// so the first ranks wait for as long as the others are alive.
//
// The wait has no time limit. Like any other wait it reports the missing ranks after `stall_seconds`. It ends early
// only if a rank is lost. The first call of on_stall switches the monitor to this mode: from then on every process that
// exits counts as lost, even one that has left all communicators, because it cannot have passed the barrier.
//
// The object takes over the remaining state of the world communicator when that is destroyed.
class ShutdownBarrier : private StallHandler {
 public:
  // `transport` and `monitor` must outlive this object. `membership` has left `monitor` but is still registered with
  // it.
  ShutdownBarrier(Transport& transport, Monitor& monitor, std::unique_ptr<Watchdog> watch,
                  std::unique_ptr<HostGroup> host, std::unique_ptr<Membership> membership);
  // Blocks until all ranks have arrived or one is lost.
  ~ShutdownBarrier() override;
  ShutdownBarrier(const ShutdownBarrier&) = delete;
  ShutdownBarrier& operator=(const ShutdownBarrier&) = delete;

 private:
  Result on_stall(int rank, std::int64_t waited) override;

  Transport& transport_;
  Monitor& monitor_;
  std::unique_ptr<Watchdog> watch_;
  std::unique_ptr<HostGroup> host_;         // calls `watch_`
  std::unique_ptr<Membership> membership_;  // reads the shared control block of the host
};

}  // namespace tutti::comm
