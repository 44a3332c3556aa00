// The instruction sets that vector kernels may use.
#pragma once

namespace tutti {

enum class CpuIsa { kSse4, kAvx2, kAvx512, kAmx };

// The widest instruction set that TUTTI_MAX_CPU_ISA permits: sse4, avx2, avx512 or amx. kAmx if the
// variable is not set. It limits only: kernels still ask the CPU for what it has. An unknown value
// is reported on standard error once and ignored.
CpuIsa max_cpu_isa();

// Applies the limit to Highway's dynamic dispatch. Each source with HWY_EXPORT calls it during
// static initialization, before the first dispatch.
bool limit_vector_targets();

}  // namespace tutti
