// Sanitizer annotations for the vector kernels.
//
// The kernels are compiled without sanitizers, because instrumented they would take minutes. Their memory accesses are
// reported to the sanitizers here instead, as address ranges.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_read_range(void* address, unsigned long bytes);
extern "C" void __tsan_write_range(void* address, unsigned long bytes);
#elif defined(__SANITIZE_ADDRESS__)
extern "C" void __asan_loadN(const void* address, unsigned long bytes);
extern "C" void __asan_storeN(const void* address, unsigned long bytes);
#endif

namespace tutti::comm::internal {

inline void will_read([[maybe_unused]] const void* address, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  __tsan_read_range(const_cast<void*>(address), bytes);
#elif defined(__SANITIZE_ADDRESS__)
  __asan_loadN(address, bytes);
#endif
}

inline void will_write([[maybe_unused]] void* address, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  __tsan_write_range(address, bytes);
#elif defined(__SANITIZE_ADDRESS__)
  __asan_storeN(address, bytes);
#endif
}

}  // namespace tutti::comm::internal
