// Matrix units of x86 processors (AMX), and what must be true before oneDNN may use them.
#pragma once

#include <string>

namespace tutti::kernels {

enum class Amx {
  kAbsent,    // the processor has none, or the kernel does not allow them
  kReady,     // oneDNN uses them by itself
  kRepaired,  // the hypervisor hides what oneDNN asks for; it uses them with our help
  kBroken,    // advertised, but of no use: oneDNN is told to leave them alone
};

// Asks the kernel for the permission to use AMX and makes sure that oneDNN does not end the process
// with an illegal instruction. Call it once, before the first operation of libtorch.
Amx prepare_amx();

// "AMX", "AMX (repaired)", ...; empty when absent
std::string text_of(Amx amx);

// Whether convolutions in bf16 run on matrix units in this process: what prepare_amx found.
bool has_matrix_units();

}  // namespace tutti::kernels
