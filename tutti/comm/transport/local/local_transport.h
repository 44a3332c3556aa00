// Transport for ranks without MPI, started by any launcher that sets RANK and WORLD_SIZE, on one host or several.
#pragma once

#include <memory>
#include <string>

#include "tutti/comm/transport/local/local_job.h"
#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

// Reads the job from the environment: RANK, WORLD_SIZE, and TUTTI_JOB or else MASTER_PORT as id. The job has several
// hosts if LOCAL_WORLD_SIZE differs from WORLD_SIZE, or if it is not set and MASTER_ADDR is not this host's loopback.
// Ranks then rendezvous at MASTER_ADDR, on TUTTI_PORT or else MASTER_PORT + 1, because torch's store uses MASTER_PORT.
// The secret is read from TUTTI_JOB_SECRET. Throws ConfigError if a variable is missing or invalid.
LocalJob local_job_from_environment();

// Joins the rendezvous that rank 0 serves (rendezvous.h). Messages then use shared memory, or TCP if there are several
// hosts (`interfaces`: see Listener). Throws TimeoutError, which names the ranks that have not joined in time. Throws
// ConfigError if another job of this user with the same id starts at the same time, if a rank joins twice, or if the
// ranks disagree about the size. The transport must outlive its transfers.
std::unique_ptr<Transport> start_local(const LocalJob& job, const std::string& interfaces = "");

}  // namespace tutti::comm
