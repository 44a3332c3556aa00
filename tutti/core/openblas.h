// What OpenBLAS must be told where it does not know the processor.
#pragma once

namespace tutti {

// OpenBLAS tells processors by their model, and those it does not know get the kernels of a Pentium
// 4, at a quarter of the speed or less. Sets OPENBLAS_CORETYPE for this process, before it has
// loaded the library, and for all that it starts; what the user has set wins.
void set_openblas_kernels();

}  // namespace tutti
