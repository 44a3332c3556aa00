// Which rank a process is, by the words of whoever started it.
#pragma once

#include <optional>

#include "tutti/launch/environment.h"
#include "tutti/launch/hosts.h"

namespace tutti::launch {

struct RankIdentity {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // on its host
};

// From the variables of Open MPI, MPICH, Slurm or ddlrun itself; nothing when no launcher has set
// any. The place on the host comes from DDL_HOST_LIST where that has the rank: MPICH counts wrongly
// on uneven hosts, and Slurm does not say how many there are.
std::optional<RankIdentity> find_rank(const Getenv& getenv);

// Unsets these variables of all launchers in this process, before it becomes a rank of another job.
void forget_rank();

// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, as torchrun sets them.
Environment torch_variables(const RankIdentity& identity);

}  // namespace tutti::launch
