// Differences between libtorch 1.13 and 2.x. Those of c10d are in tutti/torch_backend/compat.h.
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/version.h>

#define TUTTI_TORCH_SINCE(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||     \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

// Signature of c10::Allocator::allocate, and the member that newer versions require in addition.
#if TUTTI_TORCH_SINCE(2, 3)
#define TUTTI_ALLOCATE_CONST
#define TUTTI_ALLOCATOR_COPY                                                           \
  void copy_data(void* target, const void* source, std::size_t bytes) const override { \
    default_copy_data(target, source, bytes);                                          \
  }
#else
#define TUTTI_ALLOCATE_CONST const
#define TUTTI_ALLOCATOR_COPY
#endif

namespace tutti::lms {

#if TUTTI_TORCH_SINCE(2, 4)
inline bool is_autocast_enabled() {
  return at::autocast::is_autocast_enabled(at::kCPU);
}
inline void set_autocast_enabled(bool enabled) {
  at::autocast::set_autocast_enabled(at::kCPU, enabled);
}
inline void set_autocast_type(at::ScalarType type) {
  at::autocast::set_autocast_dtype(at::kCPU, type);
}
#else
inline bool is_autocast_enabled() {
  return at::autocast::is_cpu_enabled();
}
inline void set_autocast_enabled(bool enabled) {
  at::autocast::set_cpu_enabled(enabled);
}
inline void set_autocast_type(at::ScalarType type) {
  at::autocast::set_autocast_cpu_dtype(type);
}
#endif

}  // namespace tutti::lms
