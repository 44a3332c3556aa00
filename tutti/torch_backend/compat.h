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

}  // namespace tutti::torch_backend
