// The two networks of "Exascale Deep Learning for Climate Analytics" (arXiv:1810.01993).
#pragma once

#include <memory>
#include <vector>

#include "tutti/models/nets/layer_stack.h"

namespace tutti::models::climate_segment {

// Gives every pixel a score per class.
class Network : public LayerStack {
 public:
  Network(std::vector<Layer> layers, std::uint64_t seed, torch::ScalarType dtype);
  // (N, 16, H, W) in the units of the fields -> (N, classes, H, W), not in bf16: before the
  // softmax. Dropout, in training only, takes libtorch's own generator.
  torch::Tensor forward(const torch::Tensor& fields);

 protected:
  virtual torch::Tensor scores(const torch::Tensor& fields) = 0;
};

// Dense blocks down to a sixteenth and up again: the layers of a block see all that came before in
// it. Up go only the features that the block below has added; what is beside comes from the way
// down. Not a Graph: a whole dense block is one call of a kernel.
struct TiramisuShape {
  int height = 768, width = 1152, channels = 16, classes = 3;
  int first = 64, growth = 32, kernel = 5;
  std::vector<int> down = {2, 2, 2, 4, 5}, up = {4, 2, 2, 2};  // layers of each block
  double dropout = 0.2;
};
std::vector<Layer> layers_of(const TiramisuShape& shape);
std::unique_ptr<Network> make_network(const TiramisuShape& shape, std::uint64_t seed,
                                      torch::ScalarType dtype);

// DeepLabv3+: ResNet v2 with dilated convolutions at an eighth, pyramid pooling, and a decoder back
// to full resolution, where the input itself joins.
struct DeepLabShape {
  int height = 768, width = 1152, channels = 16, classes = 3;
  int filters = 64, pyramid = 256,
      low = 48;                           // of the encoder, of pyramid and decoder, of the joint
  std::vector<int> units = {3, 4, 6, 3};  // of each block of the encoder
  std::vector<int> rates = {12, 24, 36};  // dilation in the pyramid
};
Graph graph_of(const DeepLabShape& shape);
std::unique_ptr<Network> make_network(const DeepLabShape& shape, std::uint64_t seed,
                                      torch::ScalarType dtype);

}  // namespace tutti::models::climate_segment
