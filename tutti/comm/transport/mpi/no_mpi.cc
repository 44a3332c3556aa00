// Replaces the sources of this directory in a build without MPI.
#include "tutti/comm/transport/mpi/mpi_transport.h"

namespace tutti::comm {
namespace {

[[noreturn]] void refuse() {
  throw ConfigError("DDL-6-10",
                    "this library was built without MPI. Start the ranks with RANK and "
                    "WORLD_SIZE instead, or install MPI (Debian: libopenmpi-dev) and build with "
                    "-DTUTTI_MPI=openmpi.");
}

}  // namespace

bool has_mpi() {
  return false;
}
std::string mpi_library() {
  return "";
}
bool mpi_is_running() {
  return false;
}
std::unique_ptr<Transport> start_mpi() {
  refuse();
}
std::unique_ptr<Transport> join_mpi(const void*) {
  refuse();
}

}  // namespace tutti::comm
