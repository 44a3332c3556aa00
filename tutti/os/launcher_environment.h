// Detection of the launcher, rank and size of this process from environment variables.
//
// Each launcher sets different variables for its ranks; the table in launcher_environment.cc has one row per launcher.
// Two functions read it:
//
// - find_job(): the kind of launcher, which selects the transport, with rank and size. Invalid variables are errors.
// - find_rank(): rank and size in the job and within the host. Invalid variables count as not set.
//
// Both search the MPI launchers first and RANK and WORLD_SIZE (torchrun) last.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tutti/os/environment.h"

namespace tutti::os {

// The variables that a launcher sets for every rank; nullptr: it does not set one.
struct LauncherVariables {
  const char* name;  // human-readable: "mpirun of Open MPI"
  const char* rank;
  const char* size;
  const char* local_rank;  // rank within the host
  const char* local_size;  // ranks on the host
};

// The table of MPI launchers. The first match counts, so a launcher that runs on top of another one comes first.
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
  int size = 1;  // -1: the launcher sets no size
};

// Returns the job that this process is a rank of. An MPI launcher takes precedence over RANK and WORLD_SIZE if both
// agree. If they disagree, a launcher such as torchrun was started below mpirun, and its ranks are not MPI ranks.
// Throws ConfigError if a variable is not a number (DDL-6-14) or the rank is not below the size (DDL-6-15).
JobEnvironment find_job(const Getenv& getenv = get_variable);

struct RankIdentity {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // within the host
};

// Returns the rank of this process from the first launcher that has set both rank and size; empty if none has.
// Variables that are not numbers count as not set.
std::optional<RankIdentity> find_rank(const Getenv& getenv = get_variable);

// RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE with the values that torchrun would set.
Environment torch_variables(const RankIdentity& identity);

// Unsets the variables of all launchers in this process, before it becomes a rank of another job. Not thread-safe.
void unset_rank_variables();

// True if mpirun or mpiexec sets this variable for its ranks. Covers more variables than the table.
bool is_mpi_rank_variable(std::string_view name);

}  // namespace tutti::os
