/* DDL for programs that initialise and finalise MPI themselves, preferably with MPI_THREAD_MULTIPLE. */
#ifndef TUTTI_COMM_TRANSPORT_MPI_DDL_MPI_H
#define TUTTI_COMM_TRANSPORT_MPI_DDL_MPI_H

#include <mpi.h>
#include <stddef.h>

#if defined(__GNUC__)
#define DDL_MPI_API __attribute__((visibility("default")))
#else
#define DDL_MPI_API
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* Reduces `buffer` over the ranks of `communicator`, in place; collective over it. Returns DDL_SUCCESS or a code of
 * ddl.h. Types: MPI_FLOAT, MPI_DOUBLE, signed integers of 8, 32 and 64 bits, and unsigned integers of 8 bits.
 * Operations: MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD. The first call with a communicator and an option string (e.g.
 * "-mode p:2x2x1x1"; NULL or "": DDL_OPTIONS) creates the state that later calls reuse; call ddl_finalize before
 * MPI_Finalize to free it. */
DDL_MPI_API int ddl_allreduce_mpi(const char* options, void* buffer, size_t count,
                                  MPI_Datatype type, MPI_Op op, MPI_Comm communicator);

#ifdef __cplusplus
}
#endif
#endif
