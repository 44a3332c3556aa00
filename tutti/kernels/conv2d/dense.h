// A dense block: each of its layers sees all that came before in it.
#pragma once

#include <torch/types.h>

#include <vector>

namespace tutti::kernels {

struct DenseFeatures {
  // The same pictures as were given. Layers after the block that see them should take these: then
  // gradients are summed as they are made, not by a pass over memory for each layer.
  std::vector<torch::Tensor> inputs;
  // What the layers of the block have added: a picture for each of them, or one of all.
  std::vector<torch::Tensor> added;
  // Every second pixel of every second row of all features, inputs first, joined: what a layer of
  // kernel 1 and stride 2 sees. Only where asked for and where the block is computed as a whole.
  torch::Tensor even;
};

// Layer i is conv_same, with ReLU, of `inputs` and what layers 0 to i - 1 have added. In f32 with
// kernels of 3x3, what is seen is read once for all layers that see it, and its gradient made at
// once from those of all of them.
DenseFeatures dense_conv(at::TensorList inputs, at::TensorList weights, at::TensorList biases,
                         torch::ScalarType dtype, bool wants_even = false);

}  // namespace tutti::kernels
