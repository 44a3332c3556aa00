/* DDL: collectives over the ranks of a job, from C.
 *
 * A process has one job, from ddl_init to ddl_finalize. Functions return DDL_SUCCESS or a negative
 * code; ddl_last_error then says in words what happened and what to do. Every rank of a group must
 * make the same calls in the same order. All functions may be called from any thread, but those of
 * one group one at a time; none throws. Buffers hold `count` elements of `type`; memory from
 * ddl_malloc is the fastest, any other works too.
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
  DDL_ERROR_CONFIG = -1,  /* what was asked for cannot be: a wrong option, count, rank */
  DDL_ERROR_COMM = -2,    /* ranks disagree, or one of them is gone */
  DDL_ERROR_TIMEOUT = -3, /* a rank did not come in the time allowed */
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

/* Some ranks of the job; 0 is all of them. */
typedef int ddl_group;
enum { DDL_WORLD = 0 };

/* An operation under way. ddl_wait, and ddl_test once it is complete, end it and set it to NULL;
 * NULL is complete. */
typedef struct ddl_request_state* ddl_request;

/* Joins the job as ddlrun, mpirun or srun started it, and initialises MPI for that; without a
 * launcher the job is this rank alone. `options`: "-mode p:2x2x1x1 -dump_iter 100"; they add to,
 * and win over, those of the environment variable DDL_OPTIONS. NULL or "": only the environment. A
 * lost rank ends the process unless on_failure is `error`. */
DDL_API int ddl_init(const char* options DDL_DEFAULT(NULL));
/* Leaves the job, and finalises MPI if ddl_init started it. Waits for calls of other threads, and
 * under MPI for as long as other ranks live that have not called it; who is missing is reported. */
DDL_API int ddl_finalize(void);

DDL_API int ddl_rank(int* rank);
DDL_API int ddl_size(int* size);
DDL_API int ddl_local_rank(int* rank); /* among the ranks of this host */
DDL_API int ddl_local_size(int* size);

/* Memory that the ranks of the host can reach; `align` a power of two, or 0. Returns the usable
 * bytes, at least `bytes`, or a negative code with *memory = NULL. It lives until ddl_free or
 * ddl_finalize. */
DDL_API int64_t ddl_malloc(void** memory, size_t align, size_t bytes);
DDL_API int ddl_free(void* memory);
/* Without devices library memory is host memory: these copy, and there is nothing to wait for. */
DDL_API int ddl_memcpy_host_to_device(void* device, const void* host, size_t bytes);
DDL_API int ddl_memcpy_device_to_host(void* host, const void* device, size_t bytes);
DDL_API int ddl_memsync(void);

/* Reduces `buffer` over all ranks, in place. Averages of integers are exact, rounded towards zero;
 * sums and products of integers wrap around. */
DDL_API int ddl_allreduce(void* buffer, size_t count, DDL_Type type DDL_DEFAULT(DDL_TYPE_FLOAT),
                          DDL_Op op DDL_DEFAULT(DDL_OP_SUM));
DDL_API int ddl_bcast(void* buffer, size_t count, DDL_Type type, int root);
/* The output counts on the root only; elsewhere it may be NULL. */
DDL_API int ddl_reduce(const void* input, void* output, size_t count, DDL_Type type, DDL_Op op,
                       int root);
/* `count` elements of each rank; the whole has `count` times as many as there are ranks, in rank
 * order. */
DDL_API int ddl_allgather(const void* input, void* output, size_t count, DDL_Type type);
DDL_API int ddl_reducescatter(const void* input, void* output, size_t count, DDL_Type type,
                              DDL_Op op);
DDL_API int ddl_alltoall(const void* input, void* output, size_t count, DDL_Type type);
DDL_API int ddl_gather(const void* input, void* output, size_t count, DDL_Type type, int root);
DDL_API int ddl_scatter(const void* input, void* output, size_t count, DDL_Type type, int root);
DDL_API int ddl_barrier(void);

/* Between two ranks; messages of one tag (0 or more) arrive in order. */
DDL_API int ddl_send(const void* buffer, size_t count, DDL_Type type, int peer, int tag);
DDL_API int ddl_recv(void* buffer, size_t count, DDL_Type type, int peer, int tag);

/* Returns at once; the buffer must live, untouched, until the operation is complete. */
DDL_API int ddl_iallreduce(void* buffer, size_t count, DDL_Type type, DDL_Op op,
                           ddl_request* request);
/* Returns how the operation ended. */
DDL_API int ddl_wait(ddl_request* request);
DDL_API int ddl_test(ddl_request* request, int* is_complete);

/* Ranks of one colour become a group, ordered by key, then rank; collective over `parent`. A
 * negative colour gives -1, no group. */
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

/* What the last failed call of this thread said; "" when none has. Valid until the next failure. */
DDL_API const char* ddl_last_error(void);
/* What a code means, in general. */
DDL_API const char* ddl_error_string(int code);
DDL_API const char* ddl_version(void);

#ifdef __cplusplus
}
#endif
#endif
