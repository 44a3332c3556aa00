// The C library's heap.
#pragma once

namespace tutti::os {

// Returns free heap memory to the operating system (malloc_trim). Thread-safe, unlike malloc_trim itself: its first
// call initialises glibc's heap without a lock if another allocator (AddressSanitizer, jemalloc) serves malloc.
void trim_heap();

}  // namespace tutti::os
