#include "tutti/core/openblas.h"

#include <cstdlib>

namespace tutti {

void set_openblas_kernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    ::setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
}

}  // namespace tutti
