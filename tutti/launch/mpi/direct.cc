// Launcher without MPI: ddlrun starts the ranks of this host itself.
#include <fmt/format.h>

#include "tutti/launch/mpi/launcher.h"

namespace tutti::launch {

Args direct_command(const Mpi& mpi, const Start& start) {
  return with_program({mpi.program, "--start-here", fmt::format("{}", start.ranks)}, start);
}

}  // namespace tutti::launch
