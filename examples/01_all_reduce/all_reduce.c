/* Averages a gradient over all ranks. */
#include <ddl.h>
#include <stdio.h>
#include <stdlib.h>

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "%s\n", ddl_last_error());
  exit(EXIT_FAILURE);
}

int main(void) {
  const size_t count = 1000000;
  int rank, size;
  must(ddl_init(NULL)); /* options come from DDL_OPTIONS, e.g. "-mode p:2x1x1x1" */
  must(ddl_rank(&rank));
  must(ddl_size(&size));

  /* Library-allocated memory is reduced in place, without copies; any other memory works too. */
  void* memory;
  if (ddl_malloc(&memory, 64, count * sizeof(float)) < 0) must(DDL_ERROR_MEMORY);
  float* gradient = memory;
  for (size_t i = 0; i < count; ++i) gradient[i] = (float)rank;

  must(ddl_allreduce(gradient, count, DDL_TYPE_FLOAT, DDL_OP_AVG));

  const float expected = (float)(size - 1) / 2;
  for (size_t i = 0; i < count; ++i) {
    if (gradient[i] == expected) continue;
    fprintf(stderr, "rank %d: element %zu is %g, not %g\n", rank, i, gradient[i], expected);
    return EXIT_FAILURE;
  }
  if (rank == 0) printf("ranks: %d, average: %g\n", size, expected);

  must(ddl_free(memory));
  must(ddl_finalize());
  return EXIT_SUCCESS;
}
