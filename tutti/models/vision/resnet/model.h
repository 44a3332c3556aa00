// Residual networks (arXiv:1512.03385): for photographs in depths 18, 34, 50, 101 and 152 (with the
// stride in the 3x3 layer of a bottleneck), for small pictures in depths 6n+2 with 16 filters.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tutti/models/nets/layer_stack.h"

namespace tutti::models::resnet {

struct NetworkShape {
  int depth = 50, image = 224, classes = 1000;
  bool has_large_stem = true;  // 7x7 of stride 2 and pooling; depths 6n+2 have a 3x3 one anyway
};

struct Block {
  std::string name;
  bool is_bottleneck = false, has_shortcut = false;
};

// The layers in the order in which they run; `blocks` gets what connects them. Throws ConfigError
// for a depth that does not exist.
std::vector<Layer> layers_of(const NetworkShape& shape, std::vector<Block>* blocks = nullptr);

class Network : public LayerStack {
 public:
  Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype);
  // (N, 3, H, W), from 0 to 255 -> (N, classes) in f32: before the softmax.
  torch::Tensor forward(const torch::Tensor& images);
  // What it subtracts from each channel, and divides it by; kept with the weights.
  void set_scale(const std::array<float, 3>& mean, const std::array<float, 3>& spread);
  // What forward does, in parts that follow each other: stem, blocks, scores.
  std::vector<train::Layer> parts();

 private:
  torch::Tensor stem(const torch::Tensor& images);
  torch::Tensor block(const Block& block, const torch::Tensor& input);
  torch::Tensor scores(const torch::Tensor& x);
  std::vector<Block> blocks_;
  bool pools_;
  torch::Tensor mean_, spread_;
};

}  // namespace tutti::models::resnet
