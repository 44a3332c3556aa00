// Conversion of images to the channels_last layout used by the convolution kernels.
#pragma once

#include <torch/types.h>

namespace tutti::kernels {

// Returns the image in this type with contiguous channels; the tensor itself if it already has this layout.
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
