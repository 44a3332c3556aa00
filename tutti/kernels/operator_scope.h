// Announces a custom operation to observers of libtorch's operators.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace tutti::kernels {

// Reports an operation with its tensors to the callbacks of at::RecordFunction, as libtorch does for its own operators.
// Profilers then list it, and large model support makes the tensors resident until the scope ends. An operation that
// accesses tensors by raw pointers starts with a scope, before it allocates its results.
class OperatorScope {
 public:
  // `name` must outlive the scope.
  OperatorScope(const char* name, at::TensorList tensors);
  ~OperatorScope();
  OperatorScope(const OperatorScope&) = delete;
  OperatorScope& operator=(const OperatorScope&) = delete;

 private:
  struct Record;
  std::unique_ptr<Record> record_;  // null if there are no callbacks
};

}  // namespace tutti::kernels
