/* A mode that does not fit the ranks: every rank is told what would. */
#include "tests/c_api/check.h"

int main(void) {
  CHECK_FAILS(ddl_init("-mode p:7x5"), DDL_ERROR_CONFIG, "35");
  puts(ddl_last_error());
  return EXIT_SUCCESS;
}
