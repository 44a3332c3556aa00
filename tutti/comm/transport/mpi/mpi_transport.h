// Transport over MPI, used between hosts. MPI types do not appear outside this directory.
#pragma once

#include <memory>
#include <string>

#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

// The transport also provides VendorCollectives (vendor.h): all_reduce, reduce_scatter and all_gather of f32, f64, i8,
// u8, i32 and i64 with sum, min, max and product, through the MPI functions.
//
// Cancellation: a cancelled receive uses MPI_Cancel. A send cannot be cancelled once MPI has it; its destructor waits
// for MPI, for at most 100 ms summed over all transfers of the transport. Transfers that are still incomplete are
// abandoned: MPI may still read their memory, and the transport does not finalize MPI, so mpirun ends the job with an
// error. This happens only if a peer has exited, is stopped or no longer receives.
//
// Shutdown is collective. `finish` waits for the other ranks without a time limit; the destructor of a transport that
// was not finished waits for up to 10 s. Neither waits if a rank is lost or a transfer was abandoned, and then MPI is
// not finalized.

// True if this library was built with MPI. If not, start_mpi and join_mpi throw ConfigError.
bool has_mpi();

// Name and version of the MPI library, e.g. "Open MPI v4.1.4"; empty without MPI.
std::string mpi_library();

// True if MPI is initialized and not yet finalized.
bool mpi_is_running();

// Returns a transport over MPI_COMM_WORLD. Initializes MPI with MPI_THREAD_MULTIPLE if the program has not done so; the
// last such transport to end then finalizes it. Throws ConfigError if the launcher belongs to a different MPI than this
// library was built with, or if MPI has already been finalized (it cannot be initialized twice).
std::unique_ptr<Transport> start_mpi();

// Returns a transport over a communicator of a program that owns MPI. `communicator` points to its MPI_Comm, which is
// duplicated, so messages cannot match those of the program. Collective over it.
std::unique_ptr<Transport> join_mpi(const void* communicator);

}  // namespace tutti::comm
