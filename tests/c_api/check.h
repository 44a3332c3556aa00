/* Exits with the line and the last error of the library if a condition does not hold. */
#pragma once

#include <ddl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      fprintf(stderr, "%s:%d: check failed: %s (last error: %s)\n", __FILE__, __LINE__, \
              #condition, ddl_last_error());                                            \
      exit(EXIT_FAILURE);                                                               \
    }                                                                                   \
  } while (0)

#define CHECK_OK(call) CHECK((call) == DDL_SUCCESS)
/* The call fails with the code, and its message contains the text. */
#define CHECK_FAILS(call, code, text)      \
  do {                                     \
    CHECK((call) == (code));               \
    CHECK(strstr(ddl_last_error(), text)); \
  } while (0)
