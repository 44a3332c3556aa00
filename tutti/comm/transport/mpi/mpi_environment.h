// Settings of MPI in the environment.
#pragma once

#include <vector>

namespace tutti::comm {

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
