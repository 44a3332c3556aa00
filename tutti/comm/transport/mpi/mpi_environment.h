// What the environment says about how this process was started, without touching MPI.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tutti::comm {

enum class JobKind {
  kAlone,  // no launcher, or a job of one rank
  kLocal,  // RANK and WORLD_SIZE, as torchrun and plain scripts set them
  kMpi,    // mpirun, srun, jsrun, ...
};

struct JobEnvironment {
  JobKind kind = JobKind::kAlone;
  std::string launcher;  // for people: "mpirun of Open MPI"
  int rank = 0;
  int size = 1;  // -1 when the launcher does not say
};

// The value of a variable; tests pass their own.
using Getenv = std::function<const char*(const char*)>;

// A launcher of MPI wins over RANK and WORLD_SIZE, unless those disagree with it: then another
// launcher was started beneath it, and its ranks are not MPI's. Throws ConfigError when a variable
// is not a number or the rank is not below the size.
JobEnvironment find_job(const Getenv& getenv);
JobEnvironment find_job();

// What we want from MPI and the user may override: each is set in the environment before MPI
// starts, unless it is there already.
struct MpiSetting {
  const char* variable;
  const char* value;
  const char* reason;
};
const std::vector<MpiSetting>& mpi_settings();
void apply_mpi_settings();

}  // namespace tutti::comm
