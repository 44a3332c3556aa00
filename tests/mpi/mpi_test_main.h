// The transport of a test program started by mpirun.
#pragma once

#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

Transport& mpi_under_test();

}  // namespace tutti::comm
