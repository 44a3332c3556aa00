// Conversion of tensors to the buffers of comm.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "tutti/core/buffer.h"

namespace tutti::torch_backend {

// Returns the comm type with the same values, or nullopt if there is none.
std::optional<DType> dtype_of(at::ScalarType type);

// Returns the elements of a contiguous tensor, for collectives that only move data. Types unknown to comm are
// converted: complex numbers to their components, others to bytes.
Buffer elements_of(const at::Tensor& tensor);

// Throws c10::Error unless there is at least one tensor and all tensors are dense and in host memory.
void check_tensors(const char* operation, const std::vector<at::Tensor>& tensors);

// A contiguous tensor with room for all of `parts`, concatenated. If the parts are already contiguous in memory, it
// aliases them; otherwise it allocates new memory.
class ConcatenatedTensor {
 public:
  explicit ConcatenatedTensor(std::vector<at::Tensor> parts);
  const at::Tensor& whole() const { return whole_; }
  // Number of elements of each part, counted as in elements_of.
  const std::vector<std::int64_t>& counts() const { return counts_; }
  void copy_in();   // copies the parts to the whole tensor
  void copy_out();  // copies the whole tensor to the parts

 private:
  bool are_contiguous() const;
  std::vector<at::Tensor> parts_;
  std::vector<std::int64_t> counts_;
  at::Tensor whole_;
  bool aliases_parts_ = false;
};

}  // namespace tutti::torch_backend
