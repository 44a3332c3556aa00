// Conversion of f32 tensors with contiguous channels to the views used by the convolution kernels.
#pragma once

#include <torch/types.h>

#include <vector>

#include "tutti/kernels/winograd/float_images.h"

namespace tutti::kernels {

inline FloatSlice float_slice_of(const torch::Tensor& image) {
  return {image.data_ptr<float>(), image.size(1), image.stride(3), image.stride(2),
          image.stride(0)};
}

inline std::vector<FloatSlice> slices_of(at::TensorList images) {
  std::vector<FloatSlice> slices;
  for (const torch::Tensor& image : images) slices.push_back(float_slice_of(image));
  return slices;
}

inline ImageShape image_shape_of(const torch::Tensor& image) {
  return {image.size(0), image.size(2), image.size(3)};
}

}  // namespace tutti::kernels
