#include "tutti/core/cpu_isa.h"

#include <fmt/format.h>
#include <hwy/targets.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tutti {
namespace {

CpuIsa read_limit() {
  const char* value = std::getenv("TUTTI_MAX_CPU_ISA");
  const std::string_view text = value ? value : "";
  if (text == "sse4") return CpuIsa::kSse4;
  if (text == "avx2") return CpuIsa::kAvx2;
  if (text == "avx512") return CpuIsa::kAvx512;
  if (!text.empty() && text != "amx") {
    fmt::print(stderr,
               "TUTTI_MAX_CPU_ISA: {} is unknown and ignored. Valid values: sse4, avx2, avx512, "
               "amx.\n",
               text);
  }
  return CpuIsa::kAmx;
}

}  // namespace

CpuIsa max_cpu_isa() {
  static const CpuIsa limit = read_limit();
  return limit;
}

bool limit_vector_targets() {
#if HWY_ARCH_X86
  // Highway assigns lower bits to better targets, so `target - 1` covers all that are better.
  switch (max_cpu_isa()) {
    case CpuIsa::kSse4: hwy::DisableTargets(HWY_SSE4 - 1); break;
    case CpuIsa::kAvx2: hwy::DisableTargets(HWY_AVX2 - 1); break;
    case CpuIsa::kAvx512:
    case CpuIsa::kAmx: break;
  }
#endif
  return true;
}

}  // namespace tutti
