// The one transport of a test program that mpirun started.
#pragma once

#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

Transport& mpi_under_test();

}  // namespace tutti::comm
