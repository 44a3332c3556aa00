// Pictures in channels_last, as our kernels of convolution read and write them.
#pragma once

#include <torch/types.h>

namespace tutti::kernels {

// In this type, with channels beside each other; the tensor itself where it is so already.
inline torch::Tensor readable(const torch::Tensor& image, torch::ScalarType dtype) {
  const torch::Tensor values = image.to(dtype);
  return values.stride(1) == 1 ? values : values.contiguous(at::MemoryFormat::ChannelsLast);
}

inline std::vector<torch::Tensor> readables(at::TensorList images, torch::ScalarType dtype) {
  std::vector<torch::Tensor> all;
  for (const torch::Tensor& image : images) all.push_back(readable(image, dtype));
  return all;
}

inline torch::Tensor empty_image(torch::IntArrayRef sizes, torch::ScalarType dtype) {
  return torch::empty(sizes,
                      torch::TensorOptions(dtype).memory_format(at::MemoryFormat::ChannelsLast));
}

}  // namespace tutti::kernels
