/* A mode that does not match the ranks: every rank gets an error with valid modes and may retry. */
#include "tests/c_api/check.h"

int main(int count, char** arguments) {
  (void)arguments;
  CHECK_FAILS(ddl_init("-mode p:7x5"), DDL_ERROR_CONFIG, "35");
  puts(ddl_last_error());
  if (count > 1) return EXIT_SUCCESS; /* without a job */
  CHECK_FAILS(ddl_init("-mode p:5x7"), DDL_ERROR_CONFIG, "35");
  float value = 1;
  int size = 0;
  CHECK_OK(ddl_init("-mode p"));
  CHECK_OK(ddl_size(&size));
  CHECK_OK(ddl_allreduce(&value, 1, DDL_TYPE_FLOAT, DDL_OP_SUM));
  CHECK(value == (float)size);
  CHECK_OK(ddl_finalize());
  return EXIT_SUCCESS;
}
