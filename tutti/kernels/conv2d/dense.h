// Dense blocks (DenseNet): each layer reads the input of the block and the outputs of all previous layers.
#pragma once

#include <torch/types.h>

#include <vector>

namespace tutti::kernels {

struct DenseFeatures {
  // The inputs of the block. Layers after the block should read these tensors instead of the originals: their gradients
  // are then accumulated as they are computed, without an extra pass over memory for each layer.
  std::vector<torch::Tensor> inputs;
  // Output of the layers of the block: one image per layer, or one with the channels of all layers.
  std::vector<torch::Tensor> added;
  // Every second pixel of every second row of all features, inputs first, concatenated: the input of a layer with
  // kernel 1 and stride 2. Defined only if requested and if the block is computed as a whole.
  torch::Tensor even;
};

// Layer i is conv_same with ReLU of `inputs` and the outputs of layers 0 to i - 1. In f32 with 3x3 kernels, a source is
// read once for all layers that use it, and its gradient is computed once from the gradients of all of them.
DenseFeatures dense_conv(at::TensorList inputs, at::TensorList weights, at::TensorList biases,
                         torch::ScalarType dtype, bool wants_even = false);

}  // namespace tutti::kernels
