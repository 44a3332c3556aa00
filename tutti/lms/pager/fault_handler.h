// SIGSEGV handler that pages in blocks which code accesses without a pin.
//
// It is a safety net: with pins around all operators it is not called. Kernel accesses (read, write, send) of a block that
// is out do not raise the signal; they fail with EFAULT.
#pragma once

namespace tutti::lms {

class Pager;

// Installs the handler for the process, if it is not installed yet, and lets it serve `pager`, which must not be
// destroyed. A fault that no pager handles goes to the handler that was installed before. A block that cannot be read
// ends the process: the handler prints the reason first.
void serve_faults(Pager& pager);

}  // namespace tutti::lms
