// Launchers, as the environment of a process that they have started shows them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tutti/os/environment.h"

namespace tutti::os {

// One row of the table: the variables that a launcher sets for every rank; nullptr: it has none.
struct LauncherVariables {
  const char* name;  // human-readable: "mpirun of Open MPI"
  const char* rank;
  const char* size;
  const char* local_rank;  // rank and number of ranks on the same host
  const char* local_size;
};

// Launchers of MPI programs. First match wins: a launcher that runs on top of another one comes
// first.
std::span<const LauncherVariables> mpi_launchers();

enum class JobKind {
  kAlone,  // no launcher, or a job of one rank
  kLocal,  // RANK and WORLD_SIZE, as torchrun and plain scripts set them
  kMpi,    // mpirun, srun, jsrun, ...
};

struct JobEnvironment {
  JobKind kind = JobKind::kAlone;
  std::string launcher;
  int rank = 0;
  int size = 1;  // -1 when the launcher does not say
};

// The job of this process. A launcher of MPI programs wins over RANK and WORLD_SIZE, unless those
// disagree with it: then another launcher was started beneath it, and its ranks are not MPI's.
// Throws ConfigError when a variable is not a number or the rank is not below the size.
JobEnvironment find_job(const Getenv& getenv = get_variable);

struct RankIdentity {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // on its host
};

// The rank of this process for the first launcher that has set both rank and size; empty if none
// has. Variables that are not numbers count as not set.
std::optional<RankIdentity> find_rank(const Getenv& getenv = get_variable);

// RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE, as torchrun sets them.
Environment torch_variables(const RankIdentity& identity);

// Unsets the variables of all rows in this process, before it becomes a rank of another job.
void unset_rank_variables();

// Whether mpirun or mpiexec sets this variable for its ranks, also those outside of the table.
bool is_mpi_rank_variable(std::string_view name);

}  // namespace tutti::os
