// Rank of this process and its index on the host.
#pragma once

#include <optional>

#include "tutti/os/launcher_environment.h"

namespace tutti::launch {

// The rank that a launcher has given to this process; empty if none has. The index on the host
// comes from DDL_HOST_LIST if that has the rank: MPICH counts wrongly on uneven hosts, and Slurm
// does not say how many there are.
std::optional<os::RankIdentity> find_rank(const os::Getenv& getenv = os::get_variable);

}  // namespace tutti::launch
