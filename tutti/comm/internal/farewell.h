// The end of a job: this rank waits until all others have come to theirs.
#pragma once

#include <memory>

#include "tutti/comm/internal/monitor.h"
#include "tutti/comm/internal/roster.h"
#include "tutti/comm/internal/watch.h"
#include "tutti/comm/transport/shm/host_group.h"

namespace tutti::comm {

// Ranks may end far apart: rank 0 often saves the model while the others are done. MPI cannot be
// finalized before all of them are there, so the first ones wait for as long as the others live.
// Like any other call, the wait reports after `stall_seconds` which ranks are missing.
//
// Holds what is left of the communicator of all ranks when that is destroyed.
class Farewell : private Patience {
 public:
  // `transport` and `monitor` must outlive this; the roster has left `monitor` and not been
  // removed.
  Farewell(Transport& transport, Monitor& monitor, std::unique_ptr<Watch> watch,
           std::unique_ptr<HostGroup> host, std::unique_ptr<Roster> roster);
  // Waits.
  ~Farewell() override;
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;

 private:
  Result ask(int rank, std::int64_t waited) override;

  Transport& transport_;
  Monitor& monitor_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<HostGroup> host_;  // asks the watch
  std::unique_ptr<Roster> roster_;   // reads the shared control block of the host
};

}  // namespace tutti::comm
