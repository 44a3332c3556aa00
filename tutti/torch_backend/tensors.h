// Tensors as the buffers that comm understands.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "tutti/core/buffer.h"

namespace tutti::torch_backend {

// The type of comm with the same values, if it has one.
std::optional<DType> dtype_of(at::ScalarType type);

// The elements of a contiguous tensor for collectives that only move them. Types that comm does not
// have go as their parts (complex) or bytes.
Buffer elements_of(const at::Tensor& tensor);

// Throws c10::Error unless there is at least one tensor and all are dense and in host memory.
void check_tensors(const char* operation, const std::vector<at::Tensor>& tensors);

// One contiguous tensor with room for all of `parts`, one after the other: their own memory when
// they lie there like this already, else new memory.
class Joined {
 public:
  explicit Joined(std::vector<at::Tensor> parts);
  const at::Tensor& whole() const { return whole_; }
  // Number of elements, as elements_of counts them, of each part.
  const std::vector<std::int64_t>& counts() const { return counts_; }
  void copy_in();   // parts to whole
  void copy_out();  // whole to parts

 private:
  bool are_neighbours() const;
  std::vector<at::Tensor> parts_;
  std::vector<std::int64_t> counts_;
  at::Tensor whole_;
  bool is_their_own_ = false;
};

}  // namespace tutti::torch_backend
