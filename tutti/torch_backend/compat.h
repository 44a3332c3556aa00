// Differences between c10d of torch 1.13 and 2.x. Those of the rest of libtorch are in tutti/lms/hooks/compat.h.
#pragma once

#include <c10/core/Scalar.h>
#include <torch/version.h>

#include <optional>

#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
// Marks functions of the backend that 1.13 does not have.
#define TUTTI_OVERRIDE_SINCE_2 override
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#define TUTTI_OVERRIDE_SINCE_2
#endif

namespace tutti::torch_backend {

#if TORCH_VERSION_MAJOR >= 2
using BackendBase = c10d::Backend;

template <typename Slot>
bool has_python_object(Slot* slot) {
  if constexpr (requires { slot->load_pyobj(); }) {
    return slot->load_pyobj() != nullptr;
  } else {
    return slot->pyobj_interpreter() != nullptr;
  }
}

// True if this tensor object was ever exposed to Python.
inline bool is_known_to_python(const at::Tensor& tensor) {
  return has_python_object(tensor.unsafeGetTensorImpl()->pyobj_slot());
}

inline at::Scalar factor_in(const c10d::NCCLPreMulSumSupplement& supplement) {
  if (supplement.tensor_factor.defined()) return supplement.tensor_factor.item();
  return supplement.double_factor;
}
#else
using BackendBase = c10d::ProcessGroup;

inline bool is_known_to_python(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->pyobj_interpreter() != nullptr;
}

inline at::Scalar factor_in(const c10d::NCCLPreMulSumSupplement& supplement) {
  if (!supplement.tensor_factors.empty()) return supplement.tensor_factors[0].item();
  return supplement.double_factor;
}
#endif

// The factor of PREMUL_SUM; nullopt for other operations.
inline std::optional<at::Scalar> factor_of(const c10d::ReduceOp& op) {
  if (op.op_ != c10d::ReduceOp::PREMUL_SUM) return std::nullopt;
  const auto* const supplement =
      static_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
  TORCH_CHECK(
      supplement,
      "ReduceOp.PREMUL_SUM needs a factor: torch.distributed._make_nccl_premul_sum(factor)");
  return factor_in(*supplement);
}

}  // namespace tutti::torch_backend
