// The two networks of "Exascale Deep Learning for Climate Analytics" (arXiv:1810.01993).
#pragma once

#include <memory>
#include <vector>

#include "tutti/models/nets/layer_stack.h"

namespace tutti::models::climate_segment {

// Predicts a score per class for every pixel.
class Network : public LayerStack {
 public:
  Network(std::vector<Layer> layers, std::uint64_t seed, torch::ScalarType dtype);
  // (N, 16, H, W) in the units of the fields -> logits (N, classes, H, W), at least f32. Dropout, in training only,
  // uses libtorch's generator.
  torch::Tensor forward(const torch::Tensor& fields);

 protected:
  virtual torch::Tensor scores(const torch::Tensor& fields) = 0;
};

// Tiramisu: dense blocks down to a sixteenth of the resolution and up again. Only the features added by a block are
// upsampled; skip connections supply the rest. It is not a Graph, because a whole dense block is one kernel call.
struct TiramisuShape {
  int height = 768, width = 1152, channels = 16, classes = 3;
  int first = 64, growth = 32, kernel = 5;
  std::vector<int> down = {2, 2, 2, 4, 5}, up = {4, 2, 2, 2};  // layers of each block
  double dropout = 0.2;
};
std::vector<Layer> layers_of(const TiramisuShape& shape);
std::unique_ptr<Network> make_network(const TiramisuShape& shape, std::uint64_t seed,
                                      torch::ScalarType dtype);

// DeepLabv3+: ResNet v2 with dilated convolutions at an eighth of the resolution, pyramid pooling, and a decoder to
// full resolution, where the input is concatenated.
struct DeepLabShape {
  int height = 768, width = 1152, channels = 16, classes = 3;
  int filters = 64, pyramid = 256,
      low = 48;  // of the encoder, of pyramid and decoder, of the skip connection
  std::vector<int> units = {3, 4, 6, 3};  // of each block of the encoder
  std::vector<int> rates = {12, 24, 36};  // dilation in the pyramid
};
Graph graph_of(const DeepLabShape& shape);
std::unique_ptr<Network> make_network(const DeepLabShape& shape, std::uint64_t seed,
                                      torch::ScalarType dtype);

}  // namespace tutti::models::climate_segment
