// The event classifier of "Deep Learning at 15PF": five 3x3 convolutions, each except the last followed by pooling and
// dropout, global average pooling, one linear layer.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tutti/models/nets/layer.h"

namespace tutti::models::hep {

struct NetworkShape {
  int image = 224, channels = 3, filters = 128, layers = 5, classes = 2;
  double dropout = 0.5;
};

// The convolutions, and the linear layer.
std::vector<Layer> layers(const NetworkShape& shape);

class Network : public torch::nn::Module {
 public:
  // He-normal weights and zero biases from this seed. `dtype` is the type of the computation.
  Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype);

  // (N, channels, H, W) -> logits (N, classes) in f32. Images may have any size.
  torch::Tensor forward(const torch::Tensor& images, std::uint64_t seed = 0);

  // The same layer by layer: each convolution with its pooling, then the linear layer.
  int layers() const { return shape_.layers + 1; }
  torch::Tensor forward_layer(int layer, const torch::Tensor& input, std::uint64_t seed);

  // Writes TorchScript of the network in f32, without dropout and with softmax: (N, channels, H, W) in GeV and tracks
  // -> (N, classes).
  void export_script(std::ostream& out) const;

 private:
  NetworkShape shape_;
  torch::ScalarType dtype_;
  std::vector<torch::Tensor> weights_, biases_;
  torch::Tensor last_weight_, last_bias_;
};

}  // namespace tutti::models::hep
