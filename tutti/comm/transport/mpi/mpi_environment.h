// Default MPI settings in the environment.
#pragma once

#include <vector>

namespace tutti::comm {

// A setting that the library prefers and the user may override. It is set in the environment before MPI_Init unless the
// variable already exists.
struct MpiSetting {
  const char* variable;
  const char* value;
  const char* reason;
};
const std::vector<MpiSetting>& mpi_settings();
void apply_mpi_settings();

}  // namespace tutti::comm
