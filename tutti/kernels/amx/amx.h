// Detection and setup of AMX, the matrix engine of x86 CPUs, for this library and oneDNN.
#pragma once

#include <string>

namespace tutti::kernels {

enum class Amx {
  kAbsent,    // not supported by the CPU, or not permitted by the kernel
  kReady,     // oneDNN uses it without help
  kRepaired,  // the hypervisor hides a CPUID leaf; oneDNN works with an override
  kBroken,    // advertised but unusable: oneDNN is configured not to use it
};

// Requests permission from the kernel to use AMX and ensures that oneDNN does not terminate the process with an illegal
// instruction. Must be called once, before the first libtorch operation.
Amx prepare_amx();

// "AMX", "AMX (repaired)", ...; empty if absent.
std::string text_of(Amx amx);

// True if bf16 convolutions run on AMX in this process, as determined by prepare_amx.
bool has_matrix_units();

}  // namespace tutti::kernels
