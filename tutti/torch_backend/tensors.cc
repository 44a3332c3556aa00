#include "tutti/torch_backend/tensors.h"

#include <ATen/ATen.h>

#include <utility>

namespace tutti::torch_backend {

std::optional<DType> dtype_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat: return DType::kF32;
    case at::kDouble: return DType::kF64;
    case at::kHalf: return DType::kF16;
    case at::kBFloat16: return DType::kBF16;
    case at::kChar: return DType::kI8;
    case at::kByte: return DType::kU8;
    case at::kInt: return DType::kI32;
    case at::kLong: return DType::kI64;
    default: return std::nullopt;
  }
}

Buffer elements_of(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  if (const auto dtype = dtype_of(type)) return {tensor.data_ptr(), tensor.numel(), *dtype};
  if (at::isComplexType(type)) {
    const auto part = dtype_of(c10::toRealValueType(type));
    if (part) return {tensor.data_ptr(), 2 * tensor.numel(), *part};
  }
  const auto bytes = tensor.numel() * static_cast<std::int64_t>(tensor.element_size());
  return {tensor.data_ptr(), bytes, DType::kU8};
}

void check_tensors(const char* operation, const std::vector<at::Tensor>& tensors) {
  TORCH_CHECK(!tensors.empty(), operation, " needs a tensor");
  for (const at::Tensor& tensor : tensors) {
    TORCH_CHECK(tensor.device().is_cpu(), operation,
                " of the ddl backend works on tensors in host memory, not on ", tensor.device(),
                ": copy it with .cpu() first");
    TORCH_CHECK(tensor.layout() == at::kStrided, operation,
                " works on dense tensors, and allreduce on sparse ones in the layout COO, not on ",
                tensor.layout());
  }
}

ConcatenatedTensor::ConcatenatedTensor(std::vector<at::Tensor> parts) : parts_(std::move(parts)) {
  std::int64_t elements = 0;
  for (const at::Tensor& part : parts_) {
    counts_.push_back(elements_of(part).count);
    elements += part.numel();
  }
  aliases_parts_ = are_contiguous();
  whole_ = aliases_parts_ ? at::from_blob(parts_[0].data_ptr(), {elements}, parts_[0].options())
                          : at::empty({elements}, parts_[0].options());
}

bool ConcatenatedTensor::are_contiguous() const {
  const char* next = static_cast<const char*>(parts_[0].data_ptr());
  for (const at::Tensor& part : parts_) {
    if (!part.is_contiguous()) return false;
    if (part.numel() == 0) continue;
    if (static_cast<const char*>(part.data_ptr()) != next) return false;
    next += part.nbytes();
  }
  return true;
}

void ConcatenatedTensor::copy_in() {
  if (aliases_parts_) return;
  std::int64_t begin = 0;
  for (const at::Tensor& part : parts_) {
    whole_.narrow(0, begin, part.numel()).view(part.sizes()).copy_(part);
    begin += part.numel();
  }
}

void ConcatenatedTensor::copy_out() {
  if (aliases_parts_) return;
  std::int64_t begin = 0;
  for (const at::Tensor& part : parts_) {
    part.copy_(whole_.narrow(0, begin, part.numel()).view(part.sizes()));
    begin += part.numel();
  }
}

}  // namespace tutti::torch_backend
