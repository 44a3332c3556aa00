// The C library's heap.
#pragma once

namespace tutti::os {

// Returns free heap memory to the operating system (malloc_trim). Callable from any thread: glibc
// initializes its heap on the first call without a lock, which several threads must not do at once.
// That first call comes late where another allocator serves malloc (AddressSanitizer, jemalloc).
void trim_heap();

}  // namespace tutti::os
