// Differences between libtorch 1.13 and 2.x.
#pragma once

#include <torch/version.h>

#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace tutti::torch_backend {

#if TORCH_VERSION_MAJOR >= 2
using BackendBase = c10d::Backend;

// True if this tensor object was ever exposed to Python.
inline bool is_known_to_python(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->pyobj_slot()->pyobj_interpreter() != nullptr;
}
#else
using BackendBase = c10d::ProcessGroup;

inline bool is_known_to_python(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->pyobj_interpreter() != nullptr;
}
#endif

// Signature of c10::Allocator::allocate, and the members that newer versions require in addition.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
#define TUTTI_ALLOCATE_CONST
#define TUTTI_ALLOCATOR_COPY                                                           \
  void copy_data(void* target, const void* source, std::size_t bytes) const override { \
    default_copy_data(target, source, bytes);                                          \
  }
#else
#define TUTTI_ALLOCATE_CONST const
#define TUTTI_ALLOCATOR_COPY
#endif

}  // namespace tutti::torch_backend
