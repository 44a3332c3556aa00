// The layers of a 3-D U-Net as data, from which the network and its costs are derived.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::models::unet3d {

inline constexpr int kLabels = 3;  // 1, 2 and 4

struct NetworkShape {
  int volume = 128, filters = 32, depth = 4;
  bool has_deconvolution = false;  // in the decoder; otherwise values are repeated
  bool has_norm = false;           // instance norm after each convolution of kernel 3
};

// A convolution that keeps the size; one of kernel 2 is transposed and doubles it.
struct Layer {
  std::string name;
  int in = 1, out = 1, kernel = 3;
  int side = 1;  // of the output
  bool has_norm = false;
};

// Layers of each step: a level down, a level up, or the last convolution. Level d has two convolutions, with `filters`
// 2^d and twice as many filters. The decoder concatenates its input with the output of the second one, and has two
// convolutions with that many filters. Throws ConfigError if the volume cannot be halved that often.
std::vector<std::vector<Layer>> steps_of(const NetworkShape& shape);

// Input of step `step`: skip connections of earlier steps, then the current volume.
struct Part {
  int channels, side;
};
std::vector<Part> parts_before(const NetworkShape& shape, int step);

std::int64_t parameter_count(const NetworkShape& shape);
// Operations per scan, 2 per multiply-add: forward, and with both gradients (none for the images).
double forward_flops(const NetworkShape& shape);
double train_flops(const NetworkShape& shape);
double flops_of(const Layer& layer);
// Bytes of the f32 activations of a forward pass of one scan: of convolutions, of ReLU unless it is in place, of
// pooling, upsampling and concatenation, and of the sigmoid. Training has to keep or swap them.
double activation_bytes(const NetworkShape& shape, bool is_relu_in_place);

}  // namespace tutti::models::unet3d
