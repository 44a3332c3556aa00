/* The C API from C, on any number of ranks. */
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>

#include "tests/c_api/check.h"

static int rank, size;

static void before_init(void) {
  int number = 7;
  float value = 1;
  void* memory = &number;
  ddl_request request = NULL;
  CHECK(strlen(ddl_version()) > 0);
  CHECK(strcmp(ddl_last_error(), "") == 0);
  CHECK_FAILS(ddl_rank(&number), DDL_ERROR_STATE, "ddl_init first");
  CHECK_FAILS(ddl_allreduce(&value, 1, DDL_TYPE_FLOAT, DDL_OP_SUM), DDL_ERROR_STATE, "DDL-4-60");
  CHECK_FAILS(ddl_malloc(&memory, 64, 100), DDL_ERROR_STATE, "DDL-4-60");
  CHECK(memory == NULL);
  CHECK_FAILS(ddl_iallreduce(&value, 1, DDL_TYPE_FLOAT, DDL_OP_SUM, &request), DDL_ERROR_STATE,
              "DDL-4-60");
  CHECK_FAILS(ddl_finalize(), DDL_ERROR_STATE, "DDL-4-60");
  CHECK_FAILS(ddl_init("-mode z"), DDL_ERROR_CONFIG, "DDL-1-28");
  CHECK_FAILS(ddl_init("-mode p:2xx"), DDL_ERROR_CONFIG, "2x2x1x1");
  CHECK_FAILS(ddl_init("-dump_itr 3"), DDL_ERROR_CONFIG, "dump_iter");
  CHECK_FAILS(ddl_init("-dump_iter"), DDL_ERROR_CONFIG, "DDL-1-05");
  CHECK(strcmp(ddl_error_string(DDL_ERROR_CONFIG), ddl_error_string(DDL_ERROR_STATE)) != 0);
}

static void memory(void) {
  char text[] = "tutti", back[sizeof text];
  void* data = NULL;
  CHECK(ddl_malloc(&data, 4096, 10) >= 10);
  CHECK(data && (size_t)data % 4096 == 0);
  CHECK_OK(ddl_memcpy_host_to_device(data, text, sizeof text));
  CHECK_OK(ddl_memsync());
  CHECK_OK(ddl_memcpy_device_to_host(back, data, sizeof text));
  CHECK(strcmp(back, text) == 0);
  CHECK_OK(ddl_free(data));
  CHECK_OK(ddl_free(NULL));
  CHECK_FAILS(ddl_free(text), DDL_ERROR_CONFIG, "DDL-5-");
  CHECK_FAILS(ddl_malloc(&data, 3, 10), DDL_ERROR_CONFIG, "power of two");
  CHECK_FAILS(ddl_malloc(&data, 64, (size_t)1 << 60), DDL_ERROR_MEMORY, "DDL-5-");
  CHECK_FAILS(ddl_malloc(&data, 64, (size_t)-1), DDL_ERROR_CONFIG, "bytes: -1");
  CHECK_FAILS(ddl_memcpy_device_to_host(NULL, text, 1), DDL_ERROR_CONFIG, "NULL");
  CHECK_FAILS(ddl_memcpy_device_to_host(back, text, (size_t)-1), DDL_ERROR_CONFIG, "bytes: -1");
}

/* A negative number reaches the library as a huge one; the message must show the original value. */
static void negative_numbers(void) {
  float value = 1;
  CHECK_FAILS(ddl_allreduce(&value, (size_t)-1, DDL_TYPE_FLOAT, DDL_OP_SUM), DDL_ERROR_CONFIG,
              "elements: -1");
  CHECK_FAILS(ddl_allreduce(NULL, (size_t)-1, DDL_TYPE_FLOAT, DDL_OP_SUM), DDL_ERROR_CONFIG,
              "elements: -1");
  CHECK_FAILS(ddl_allgather(NULL, &value, (size_t)-2, DDL_TYPE_FLOAT), DDL_ERROR_CONFIG,
              "elements: -2");
  CHECK_FAILS(ddl_allreduce(&value, 1, (DDL_Type)-1, DDL_OP_SUM), DDL_ERROR_CONFIG, "type -1;");
  CHECK_FAILS(ddl_allreduce(&value, 1, DDL_TYPE_FLOAT, (DDL_Op)-1), DDL_ERROR_CONFIG,
              "operation -1;");
  CHECK_FAILS(ddl_bcast(&value, 1, DDL_TYPE_FLOAT, -1), DDL_ERROR_CONFIG, "root -1");
  CHECK_FAILS(ddl_send(&value, 1, DDL_TYPE_FLOAT, -1, 0), DDL_ERROR_CONFIG, "rank -1");
  if (size > 1) {
    const int peer = (rank + 1) % size;
    CHECK_FAILS(ddl_send(&value, 1, DDL_TYPE_FLOAT, peer, -1), DDL_ERROR_CONFIG, "Tag -1");
  }
}

static void all_reduce(size_t count) {
  void* block = NULL;
  CHECK(ddl_malloc(&block, 64, count * sizeof(float)) >= (int64_t)(count * sizeof(float)));
  float* values = block;
  for (size_t i = 0; i < count; ++i) values[i] = (float)(rank + 1) * (float)(i % 100);
  CHECK_OK(ddl_allreduce(values, count, DDL_TYPE_FLOAT, DDL_OP_SUM));
  for (size_t i = 0; i < count; ++i)
    CHECK(values[i] == (float)(size * (size + 1) / 2) * (float)(i % 100));
  ddl_request request = NULL;
  int is_complete = 0;
  CHECK_OK(ddl_iallreduce(values, count, DDL_TYPE_FLOAT, DDL_OP_AVG, &request));
  while (!is_complete) CHECK_OK(ddl_test(&request, &is_complete));
  CHECK(request == NULL);
  CHECK_OK(ddl_wait(&request));
  for (size_t i = 0; i < count; ++i)
    CHECK(values[i] == (float)(size * (size + 1) / 2) * (float)(i % 100));
  CHECK_OK(ddl_free(block));
}

static void types_and_ops(void) {
  double largest = rank;
  int64_t product = 2;
  uint16_t one_bf16 = 0x3f80;
  int8_t least = (int8_t)-rank;
  CHECK_OK(ddl_allreduce(&largest, 1, DDL_TYPE_DOUBLE, DDL_OP_MAX));
  CHECK(largest == size - 1);
  CHECK_OK(ddl_allreduce(&product, 1, DDL_TYPE_INT64, DDL_OP_PRODUCT));
  CHECK(product == (int64_t)1 << size);
  CHECK_OK(ddl_allreduce(&one_bf16, 1, DDL_TYPE_BFLOAT16, DDL_OP_AVG));
  CHECK(one_bf16 == 0x3f80);
  CHECK_OK(ddl_allreduce(&least, 1, DDL_TYPE_INT8, DDL_OP_MIN));
  CHECK(least == 1 - size);
  CHECK_OK(ddl_allreduce(NULL, 0, DDL_TYPE_HALF, DDL_OP_SUM));
  CHECK_FAILS(ddl_allreduce(NULL, 3, DDL_TYPE_HALF, DDL_OP_SUM), DDL_ERROR_CONFIG, "NULL");
  CHECK_FAILS(ddl_allreduce(&least, 1, (DDL_Type)99, DDL_OP_SUM), DDL_ERROR_CONFIG, "type 99");
  CHECK_FAILS(ddl_allreduce(&least, 1, DDL_TYPE_INT8, (DDL_Op)99), DDL_ERROR_CONFIG,
              "operation 99");
}

static void other_collectives(void) {
  const int last = size - 1;
  int32_t value = rank == last ? 42 : 0, sum = -1, piece = -1;
  int32_t* all = calloc((size_t)size, sizeof *all);
  int32_t* other = calloc((size_t)size, sizeof *other);
  CHECK_OK(ddl_bcast(&value, 1, DDL_TYPE_INT32, last));
  CHECK(value == 42);
  CHECK_FAILS(ddl_bcast(&value, 1, DDL_TYPE_INT32, size), DDL_ERROR_CONFIG, "root");
  CHECK_OK(ddl_reduce(&rank, rank == last ? &sum : NULL, 1, DDL_TYPE_INT32, DDL_OP_SUM, last));
  CHECK(sum == (rank == last ? size * (size - 1) / 2 : -1));
  CHECK_OK(ddl_allgather(&rank, all, 1, DDL_TYPE_INT32));
  for (int r = 0; r < size; ++r) CHECK(all[r] == r);
  CHECK_OK(ddl_reducescatter(all, &piece, 1, DDL_TYPE_INT32, DDL_OP_SUM));
  CHECK(piece == rank * size);
  for (int r = 0; r < size; ++r) all[r] = 10 * rank + r;
  CHECK_OK(ddl_alltoall(all, other, 1, DDL_TYPE_INT32));
  for (int r = 0; r < size; ++r) CHECK(other[r] == 10 * r + rank);
  CHECK_OK(ddl_gather(&rank, rank == 0 ? all : NULL, 1, DDL_TYPE_INT32, 0));
  CHECK_OK(ddl_scatter(rank == 0 ? all : NULL, &piece, 1, DDL_TYPE_INT32, 0));
  CHECK(piece == rank);
  CHECK_OK(ddl_barrier());
  free(all);
  free(other);
}

static void messages(void) {
  float value = (float)rank;
  if (rank == 0 && size > 1) CHECK_OK(ddl_send(&value, 1, DDL_TYPE_FLOAT, size - 1, 5));
  if (rank == size - 1 && size > 1) {
    CHECK_OK(ddl_recv(&value, 1, DDL_TYPE_FLOAT, 0, 5));
    CHECK(value == 0);
  }
  CHECK_FAILS(ddl_send(&value, 1, DDL_TYPE_FLOAT, rank, 0), DDL_ERROR_CONFIG, "without itself");
}

/* Messages are matched by tag: the first one sent is received last. */
static void tags(void) {
  static const int tags[] = {0, 120, 240, 1000000, 2147483647};
  enum { count = sizeof tags / sizeof *tags };
  if (rank > 1 || size < 2) return;
  for (int i = 0; i < count; ++i) {
    float value = (float)i;
    if (rank == 0) CHECK_OK(ddl_send(&value, 1, DDL_TYPE_FLOAT, 1, tags[i]));
  }
  for (int i = count - 1; i >= 0; --i) {
    float value = -1;
    if (rank == 0) continue;
    CHECK_OK(ddl_recv(&value, 1, DDL_TYPE_FLOAT, 0, tags[i]));
    CHECK(value == (float)i);
  }
}

/* A forked child is not part of the job, and its parent continues. */
static void forked_child(void) {
  fflush(stdout);
  const pid_t child = fork();
  float value = 1;
  if (child == 0) {
    CHECK_FAILS(ddl_allreduce(&value, 1, DDL_TYPE_FLOAT, DDL_OP_SUM), DDL_ERROR_STATE, "DDL-4-65");
    CHECK_FAILS(ddl_finalize(), DDL_ERROR_STATE, "forked child");
    CHECK_FAILS(ddl_init(NULL), DDL_ERROR_STATE, "DDL-4-65");
    _exit(EXIT_SUCCESS);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK_OK(ddl_allreduce(&value, 1, DDL_TYPE_FLOAT, DDL_OP_SUM));
  CHECK(value == (float)size);
}

static void averages(void) {
  uint8_t value = rank % 2 ? 100 : 200;
  int sum = 0;
  for (int r = 0; r < size; ++r) sum += r % 2 ? 100 : 200;
  CHECK_OK(ddl_allreduce(&value, 1, DDL_TYPE_UINT8, DDL_OP_AVG));
  CHECK(value == sum / size);
}

static void groups(void) {
  ddl_group group = -1, none = 5;
  int group_rank = -1, group_size = -1;
  CHECK_OK(ddl_split(DDL_WORLD, rank % 2, -rank, &group));
  CHECK_OK(ddl_group_rank(group, &group_rank));
  CHECK_OK(ddl_group_size(group, &group_size));
  CHECK(group_size == (size + 1 - rank % 2) / 2);
  int32_t sum = 1;
  CHECK_OK(ddl_group_allreduce(group, &sum, 1, DDL_TYPE_INT32, DDL_OP_SUM));
  CHECK(sum == group_size);
  CHECK_OK(ddl_group_barrier(group));
  CHECK_OK(ddl_split(DDL_WORLD, -1, 0, &none));
  CHECK(none == -1);
  CHECK_OK(ddl_group_free(group));
  CHECK_FAILS(ddl_group_barrier(group), DDL_ERROR_CONFIG, "ddl_split");
  CHECK_FAILS(ddl_group_free(DDL_WORLD), DDL_ERROR_CONFIG, "ddl_finalize");
}

int main(void) {
  before_init();
  CHECK_OK(ddl_init(NULL));
  CHECK_FAILS(ddl_init(NULL), DDL_ERROR_STATE, "twice");
  CHECK_OK(ddl_rank(&rank));
  CHECK_OK(ddl_size(&size));
  int local_rank = -1, local_size = -1;
  CHECK_OK(ddl_local_rank(&local_rank));
  CHECK_OK(ddl_local_size(&local_size));
  CHECK(local_rank == rank && local_size == size);
  CHECK_FAILS(ddl_rank(NULL), DDL_ERROR_CONFIG, "NULL");
  memory();
  negative_numbers();
  all_reduce(1);
  all_reduce(100000);
  types_and_ops();
  other_collectives();
  averages();
  messages();
  tags();
  groups();
  forked_child();
  CHECK_OK(ddl_finalize());
  CHECK_FAILS(ddl_barrier(), DDL_ERROR_STATE, "DDL-4-60");
  CHECK_FAILS(ddl_init(NULL), DDL_ERROR_STATE, "DDL-4-66");
  if (rank == 0) printf("%d ranks: all is well\n", size);
  return EXIT_SUCCESS;
}
