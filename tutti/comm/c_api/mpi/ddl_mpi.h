/* DDL for programs that own MPI: they initialised it, with MPI_THREAD_MULTIPLE if they can, and
 * finalise it. */
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

/* Reduces `buffer` over the ranks of `communicator`, in place; collective over it. DDL_SUCCESS or a
 * code of ddl.h. Types: MPI_FLOAT, MPI_DOUBLE and the integers of 8, 32 and 64 bits (8 bits
 * unsigned too). Operations: MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD. The first call with a
 * communicator and an option string ("-mode p:2x2x1x1", NULL or "": as DDL_OPTIONS says) sets up
 * what the later ones use; ddl_finalize, before MPI_Finalize, ends it. */
DDL_MPI_API int ddl_allreduce_mpi(const char* options, void* buffer, size_t count,
                                  MPI_Datatype type, MPI_Op op, MPI_Comm communicator);

#ifdef __cplusplus
}
#endif
#endif
