// Ranks of one host without MPI, started by anything that sets RANK and WORLD_SIZE.
#pragma once

#include <memory>
#include <string>

#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

struct LocalJob {
  int rank = 0;
  int size = 1;
  std::string id = "0";  // tells jobs of one user on one host apart
  double seconds = 60;   // that ranks wait for each other at the start
};

// From RANK, WORLD_SIZE, and TUTTI_JOB or else MASTER_PORT as id. Throws ConfigError when they are
// missing, make no sense, or LOCAL_WORLD_SIZE tells that the job has several hosts.
LocalJob local_job_from_environment();

// Meets the other ranks in a socket without a file that rank 0 serves; messages then go through
// shared memory. Throws TimeoutError that names the ranks that did not come, and ConfigError when
// another job of this user with the same id starts at the same time, a rank comes twice, or ranks
// disagree about the size. Transfers must end before it.
std::unique_ptr<Transport> start_local(const LocalJob& job);

}  // namespace tutti::comm
