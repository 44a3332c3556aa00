// Layers of a network as data. Parameters, operation counts and the forward pass are derived from this list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tutti::models {

// A convolution with zero padding ("same") that keeps the size, or divides it by the stride. Transposed, it multiplies
// the size (stride 2 and kernels of 3 and 5 only). A linear layer is a convolution of kernel 1 on an image of one
// pixel. Kernel 0: normalisation only.
struct Layer {
  std::string name;  // letters, digits and _
  int in = 1, out = 1, kernel = 1, stride = 1, dilation = 1;
  int height = 1, width = 1;  // of the output
  bool has_bias = true;
  bool has_norm = false;  // batch norm of the output
  bool is_transposed = false;
  bool zero_init_gamma =
      false;  // the scale of the norm starts at 0, so a residual block starts as the identity
  bool sees_input = false;  // the input of the network; always set for the first layer
};

std::int64_t parameter_count(std::span<const Layer> layers);
// Operations per image, 2 per multiply-add of the convolutions: forward only, and with the gradients of inputs and
// weights (except that of the network's input).
double forward_flops(std::span<const Layer> layers);
double train_flops(std::span<const Layer> layers);
// Number of output values of the layers per image, plus the inputs of norms: what a step has to store.
double output_values(std::span<const Layer> layers);

}  // namespace tutti::models
