// Ranks without MPI, started by anything that sets RANK and WORLD_SIZE, on one host or several.
#pragma once

#include <memory>
#include <string>

#include "tutti/comm/transport/local/local_job.h"
#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

// From RANK, WORLD_SIZE, and TUTTI_JOB or else MASTER_PORT as id. The job has several hosts when
// LOCAL_WORLD_SIZE is not WORLD_SIZE, or is not given and MASTER_ADDR is not this host's loopback:
// then ranks meet at MASTER_ADDR, on TUTTI_PORT or else the port after MASTER_PORT, which torch's
// own store has. The secret is that of TUTTI_JOB_SECRET. Throws ConfigError when something is
// missing or makes no sense.
LocalJob local_job_from_environment();

// Meets the other ranks in a socket that rank 0 serves, without a file on one host. Messages then
// go through shared memory, with several hosts over TCP (`interfaces`: see Listener). Throws
// TimeoutError that names the ranks that did not come, and ConfigError when another job of this
// user with the same id starts at the same time, a rank comes twice, or ranks disagree about the
// size. Transfers must end before it.
std::unique_ptr<Transport> start_local(const LocalJob& job, const std::string& interfaces = "");

}  // namespace tutti::comm
