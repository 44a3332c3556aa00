// The layers of a network as data. What is counted, made and run comes from this one list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tutti::models {

// A convolution with zeros around that keeps the size, or divides it by the stride; transposed, it
// multiplies it (stride 2 and kernels of 3 and 5 only). A linear layer is one of kernel 1 on a
// picture of one pixel. Kernel 0: a norm only.
struct Layer {
  std::string name;  // of letters, digits and _
  int in = 1, out = 1, kernel = 1, stride = 1, dilation = 1;
  int height = 1, width = 1;  // of the output
  bool has_bias = true;
  bool has_norm = false;  // batch norm of the output
  bool is_transposed = false;
  bool zero_init_gamma = false;  // the norm's scale starts at 0: a residual block begins as nothing
  bool sees_input = false;       // of the network, besides the first layer, which always does
};

std::int64_t parameter_count(std::span<const Layer> layers);
// Of one picture, 2 per multiply and add of the convolutions: forward only; and with the gradients
// of inputs and weights, of which that of the network's input is not needed.
double forward_flops(std::span<const Layer> layers);
double train_flops(std::span<const Layer> layers);
// That the layers give for one picture, norms besides what they take: what a step must keep.
double output_values(std::span<const Layer> layers);

}  // namespace tutti::models
