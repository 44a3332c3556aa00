// The end of a job: this rank waits until all others have come to theirs.
#pragma once

#include <memory>

#include "tutti/comm/faults/membership.h"
#include "tutti/comm/faults/monitor.h"
#include "tutti/comm/faults/watchdog.h"
#include "tutti/comm/transport/shm/host_group.h"

namespace tutti::comm {

// Ranks may end far apart: rank 0 often saves the model while the others are done. MPI cannot be
// finalized before all of them are there, so the first ones wait for as long as the others live.
// Like any other call, the wait reports after `stall_seconds` which ranks are missing.
//
// Holds what is left of the communicator of all ranks when that is destroyed.
class ShutdownBarrier : private StallHandler {
 public:
  // `transport` and `monitor` must outlive this; the membership has left `monitor` and not been
  // removed.
  ShutdownBarrier(Transport& transport, Monitor& monitor, std::unique_ptr<Watchdog> watch,
                  std::unique_ptr<HostGroup> host, std::unique_ptr<Membership> membership);
  // Waits.
  ~ShutdownBarrier() override;
  ShutdownBarrier(const ShutdownBarrier&) = delete;
  ShutdownBarrier& operator=(const ShutdownBarrier&) = delete;

 private:
  Result on_stall(int rank, std::int64_t waited) override;

  Transport& transport_;
  Monitor& monitor_;
  std::unique_ptr<Watchdog> watch_;
  std::unique_ptr<HostGroup> host_;         // asks the watch
  std::unique_ptr<Membership> membership_;  // reads the shared control block of the host
};

}  // namespace tutti::comm
