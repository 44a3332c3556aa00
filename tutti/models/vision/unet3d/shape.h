// The layers of a 3-D U-Net as data: what is counted, and what the network is made from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::models::unet3d {

inline constexpr int kLabels = 3;  // 1, 2 and 4

struct NetworkShape {
  int volume = 128, filters = 32, depth = 4;
  bool has_deconvolution = false;  // on the way up; else values are repeated
  bool has_norm = false;           // instance norm of what each convolution of 3 gives
};

// A convolution that keeps the size; one of kernel 2 is transposed and doubles it.
struct Layer {
  std::string name;
  int in = 1, out = 1, kernel = 3;
  int side = 1;  // of what it gives
  bool has_norm = false;
};

// Layers of each step: a level down, a level up, or the last convolution. Level d has two
// convolutions, of `filters` 2^d and twice as many; the way up joins what comes from below with
// what the second of them gave, and has two with that many. Throws ConfigError when the volume
// cannot be halved so often.
std::vector<std::vector<Layer>> steps_of(const NetworkShape& shape);

// What step `step` takes: what earlier steps left for the way up, then what is worked on.
struct Part {
  int channels, side;
};
std::vector<Part> parts_before(const NetworkShape& shape, int step);

std::int64_t parameter_count(const NetworkShape& shape);
// Of one scan, 2 per multiply and add: forward; and with both gradients (none for the images).
double forward_flops(const NetworkShape& shape);
double train_flops(const NetworkShape& shape);
double flops_of(const Layer& layer);
// f32 values that a forward pass of one scan makes: of convolutions, of ReLU unless it is done in
// place, of pooling, doubling and joining, and of the sigmoid. What training must keep, or swap.
double activation_bytes(const NetworkShape& shape, bool is_relu_in_place);

}  // namespace tutti::models::unet3d
