// Upper limit on the instruction sets that vector kernels use (TUTTI_MAX_CPU_ISA).
#pragma once

namespace tutti {

enum class CpuIsa { kSse4, kAvx2, kAvx512, kAmx };

// The widest instruction set that TUTTI_MAX_CPU_ISA permits: sse4, avx2, avx512 or amx; kAmx if it is not set. This is
// an upper limit: kernels still check what the CPU supports. An unknown value is ignored and reported once on standard
// error. The variable is read on the first call. Thread-safe.
CpuIsa max_cpu_isa();

// Applies the limit to Highway's dynamic dispatch. Every source with HWY_EXPORT calls it during static initialisation,
// before the first dispatch. Always returns true, so it can initialise a static variable.
bool limit_vector_targets();

}  // namespace tutti
