/* DDL: C API for collectives over the ranks of a job.
 *
 * A process has one job, from ddl_init to ddl_finalize. Functions return DDL_SUCCESS or a negative code;
 * ddl_last_error then returns a message with the cause and the remedy. Every rank of a group must make the same
 * calls in the same order. Functions are callable from any thread, but only one at a time for each group. No
 * function throws. Buffers hold `count` elements of `type`; memory from ddl_malloc is fastest, any other memory
 * works too.
 */
#ifndef TUTTI_COMM_C_API_DDL_H
#define TUTTI_COMM_C_API_DDL_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define DDL_API __attribute__((visibility("default")))
#else
#define DDL_API
#endif
#ifdef __cplusplus
#define DDL_DEFAULT(value) = value
extern "C" {
#else
#define DDL_DEFAULT(value)
#endif

enum {
  DDL_SUCCESS = 0,
  DDL_ERROR_CONFIG = -1,  /* invalid argument: option, count or rank */
  DDL_ERROR_COMM = -2,    /* ranks disagree, or a rank has exited */
  DDL_ERROR_TIMEOUT = -3, /* a rank did not arrive within the timeout */
  DDL_ERROR_MEMORY = -4,
  DDL_ERROR_IO = -5,    /* the operating system refused a file, a socket or a process */
  DDL_ERROR_STATE = -6, /* called before ddl_init, after ddl_finalize, in a forked child, or
                           ddl_init twice */
  DDL_ERROR_UNKNOWN = -7
};

typedef enum {
  DDL_TYPE_FLOAT,
  DDL_TYPE_DOUBLE,
  DDL_TYPE_HALF,
  DDL_TYPE_BFLOAT16,
  DDL_TYPE_INT8,
  DDL_TYPE_UINT8,
  DDL_TYPE_INT32,
  DDL_TYPE_INT64
} DDL_Type;

typedef enum { DDL_OP_SUM, DDL_OP_AVG, DDL_OP_MIN, DDL_OP_MAX, DDL_OP_PRODUCT } DDL_Op;

/* A group of ranks of the job; 0: all ranks. */
typedef int ddl_group;
enum { DDL_WORLD = 0 };

/* A nonblocking operation. ddl_wait, and ddl_test once it is complete, free it and set it to NULL. NULL counts as
 * complete. */
typedef struct ddl_request_state* ddl_request;

/* Joins the job that ddlrun, mpirun or srun started, and initialises MPI if necessary; without a launcher the job
 * has one rank. `options`: e.g. "-mode p:2x2x1x1 -dump_iter 100"; they extend and override the environment variable
 * DDL_OPTIONS. NULL or "": only the environment. The loss of a rank ends the process unless on_failure is `error`. */
DDL_API int ddl_init(const char* options DDL_DEFAULT(NULL));
/* Leaves the job, and finalises MPI if ddl_init initialised it. Waits for calls of other threads to return. Under
 * MPI it also waits for all ranks that are still alive, and reports missing ranks. */
DDL_API int ddl_finalize(void);

DDL_API int ddl_rank(int* rank);
DDL_API int ddl_size(int* size);
DDL_API int ddl_local_rank(int* rank); /* among the ranks of this host */
DDL_API int ddl_local_size(int* size);

/* Allocates memory that all ranks of the host can access. `align`: a power of two, or 0 for the default. Returns the
 * usable size, at least `bytes`, or a negative code with *memory = NULL. The memory is valid until ddl_free or
 * ddl_finalize. */
DDL_API int64_t ddl_malloc(void** memory, size_t align, size_t bytes);
DDL_API int ddl_free(void* memory);
/* Library memory is host memory: the copies are plain memory copies, and ddl_memsync has no effect. */
DDL_API int ddl_memcpy_host_to_device(void* device, const void* host, size_t bytes);
DDL_API int ddl_memcpy_device_to_host(void* host, const void* device, size_t bytes);
DDL_API int ddl_memsync(void);

/* Reduces `buffer` over all ranks, in place. Integer averages are computed without overflow and rounded towards zero;
 * integer sums and products wrap around. */
DDL_API int ddl_allreduce(void* buffer, size_t count, DDL_Type type DDL_DEFAULT(DDL_TYPE_FLOAT),
                          DDL_Op op DDL_DEFAULT(DDL_OP_SUM));
DDL_API int ddl_bcast(void* buffer, size_t count, DDL_Type type, int root);
/* `output` is significant only on the root; it may be NULL on other ranks. */
DDL_API int ddl_reduce(const void* input, void* output, size_t count, DDL_Type type, DDL_Op op,
                       int root);
/* `count` is the number of elements per rank; the larger buffer holds `count` elements of each rank, in rank order. */
DDL_API int ddl_allgather(const void* input, void* output, size_t count, DDL_Type type);
DDL_API int ddl_reducescatter(const void* input, void* output, size_t count, DDL_Type type,
                              DDL_Op op);
DDL_API int ddl_alltoall(const void* input, void* output, size_t count, DDL_Type type);
DDL_API int ddl_gather(const void* input, void* output, size_t count, DDL_Type type, int root);
DDL_API int ddl_scatter(const void* input, void* output, size_t count, DDL_Type type, int root);
DDL_API int ddl_barrier(void);

/* Point-to-point messages; messages with the same tag (0 or more) arrive in order. */
DDL_API int ddl_send(const void* buffer, size_t count, DDL_Type type, int peer, int tag);
DDL_API int ddl_recv(void* buffer, size_t count, DDL_Type type, int peer, int tag);

/* Nonblocking; the buffer must stay valid and unmodified until the operation is complete. */
DDL_API int ddl_iallreduce(void* buffer, size_t count, DDL_Type type, DDL_Op op,
                           ddl_request* request);
/* Both return the result of the operation. */
DDL_API int ddl_wait(ddl_request* request);
DDL_API int ddl_test(ddl_request* request, int* is_complete);

/* Creates one group per color, ordered by key, then rank; collective over `parent`. A negative color sets *group to
 * -1. */
DDL_API int ddl_split(ddl_group parent, int color, int key, ddl_group* group);
DDL_API int ddl_group_free(ddl_group group);
DDL_API int ddl_group_rank(ddl_group group, int* rank);
DDL_API int ddl_group_size(ddl_group group, int* size);
DDL_API int ddl_group_allreduce(ddl_group group, void* buffer, size_t count, DDL_Type type,
                                DDL_Op op);
DDL_API int ddl_group_bcast(ddl_group group, void* buffer, size_t count, DDL_Type type, int root);
DDL_API int ddl_group_allgather(ddl_group group, const void* input, void* output, size_t count,
                                DDL_Type type);
DDL_API int ddl_group_reducescatter(ddl_group group, const void* input, void* output, size_t count,
                                    DDL_Type type, DDL_Op op);
DDL_API int ddl_group_barrier(ddl_group group);

/* Message of the last failed call of this thread; "" if none has failed. Valid until the next failure. */
DDL_API const char* ddl_last_error(void);
/* General description of an error code. */
DDL_API const char* ddl_error_string(int code);
DDL_API const char* ddl_version(void);

#ifdef __cplusplus
}
#endif
#endif
