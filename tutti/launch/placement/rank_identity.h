// Rank of this process and its index on the host.
#pragma once

#include <optional>

#include "tutti/os/launcher_environment.h"

namespace tutti::launch {

// Rank that the launcher has assigned to this process; nullopt without a launcher. The index on the host is taken from
// DDL_HOST_LIST if it lists the rank: MPICH computes it incorrectly on uneven hosts, and Slurm does not provide the
// number of local ranks.
std::optional<os::RankIdentity> find_rank(const os::Getenv& getenv = os::get_variable);

}  // namespace tutti::launch
