// A network as data: layers with branches and concatenations. Its layers, their sizes and the forward pass are derived
// from this description.
#pragma once

#include <vector>

#include "tutti/models/nets/layer.h"

namespace tutti::models {

enum class Activation { kNone, kRelu, kLeaky };  // kLeaky: negative slope 0.1

// Nodes are added in the order of execution and refer to earlier ones.
class Graph {
 public:
  using Id = std::size_t;
  static constexpr Id kInput = 0;

  // Shape of the input images.
  Graph(int channels, int height, int width);

  // A layer on the concatenated channels of `inputs`. Its `in`, `height`, `width` and `sees_input` are set here; a
  // layer of kernel 0 also gets its `out`.
  Id layer(Layer layer, const std::vector<Id>& inputs, Activation activation = Activation::kNone);
  // The sum of two outputs of the same size.
  Id add(Id a, Id b, Activation activation = Activation::kNone);
  // Max pooling, padded by half the kernel.
  Id max_pool(Id input, int kernel, int stride);
  // Global average pooling: an image of one pixel in f32.
  Id mean(Id input);
  // An image of one pixel, repeated to the size of `pattern`.
  Id expand(Id input, Id pattern);

  struct Node {
    enum class Kind { kInput, kLayer, kAdd, kMaxPool, kMean, kExpand };
    Kind kind = Kind::kInput;
    std::vector<Id> inputs;
    int channels = 0, height = 0, width = 0;  // of the output
    Activation activation = Activation::kNone;
    std::size_t layer = 0;       // kLayer: index in layers()
    int kernel = 0, stride = 0;  // kMaxPool
  };
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Layer>& layers() const { return layers_; }
  int channels(Id node) const { return nodes_[node].channels; }
  Id last() const { return nodes_.size() - 1; }
  // Nodes after which only their own output is needed and a layer follows: possible boundaries of pipeline stages.
  std::vector<Id> cuts() const;

 private:
  Id push(Node node);

  std::vector<Node> nodes_;
  std::vector<Layer> layers_;
};

}  // namespace tutti::models
