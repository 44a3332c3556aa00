// Messages through MPI: the engine between hosts. MPI's own types stay in this folder.
#pragma once

#include <memory>
#include <string>

#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

// The transport also is a VendorCollectives (see vendor.h): all_reduce, reduce_scatter and
// all_gather of f32, f64, i8, u8, i32 and i64 with sum, min, max and product through MPI's own
// functions.
//
// Giving up. A receive given up is cancelled. A send cannot be called back once MPI has it: its end
// waits for MPI, but no longer than 100 ms for all transfers of the transport together. What is not
// through by then is abandoned: MPI may still read its memory, and the transport will not finalise
// MPI, so that mpirun ends the job with an error. Only peers that are gone, stopped or no longer
// listening bring this about.
//
// The end of a transport is collective: it waits for the other ranks up to 10 s, 1 s when a
// transfer was given up, and for nobody when a rank is lost.

// Whether this library was built with MPI. When not, the two functions below throw ConfigError.
bool has_mpi();

// "Open MPI v4.1.4"; empty without MPI.
std::string mpi_library();

// Whether the program has initialised MPI and not finalised it yet.
bool mpi_is_running();

// All ranks of the job. Initialises MPI when nobody has yet, asking for MPI_THREAD_MULTIPLE; the
// last transport that ends then finalises it. Throws ConfigError when the launcher belongs to
// another MPI than this library was built with, and when MPI was finalised before (it cannot start
// twice).
std::unique_ptr<Transport> start_mpi();

// The ranks of a communicator of a program that owns MPI; `communicator` points to its MPI_Comm and
// is duplicated, so messages never meet the program's own. Collective over it.
std::unique_ptr<Transport> join_mpi(const void* communicator);

}  // namespace tutti::comm
