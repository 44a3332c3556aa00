// SIGSEGV handler that pages in blocks when code accesses them without a pin.
//
// It is a safety net: with pins around all operators it is not called. Kernel accesses (read, write, send) of a block
// that is out do not raise the signal; they fail with EFAULT.
#pragma once

namespace tutti::lms {

class Pager;

// Installs the handler for the process, if it is not installed yet, and adds `pager`, which must never be destroyed. A
// fault that no pager handles is forwarded to the previous handler. If a block cannot be read, the handler prints the
// reason and ends the process.
void serve_faults(Pager& pager);

}  // namespace tutti::lms
