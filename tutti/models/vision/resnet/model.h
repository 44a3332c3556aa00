// Residual networks (arXiv:1512.03385): for photographs in depths 18, 34, 50, 101 and 152 (with the stride in the 3x3
// layer of a bottleneck), for small images in depths 6n+2 with 16 filters.
#pragma once

#include <vector>

#include "tutti/models/nets/layer_stack.h"

namespace tutti::models::resnet {

struct NetworkShape {
  int depth = 50, image = 224, classes = 1000;
  bool has_large_stem = true;  // 7x7 of stride 2 and pooling; depths 6n+2 have a 3x3 one anyway
};

// Throws ConfigError for an unknown depth.
Graph graph_of(const NetworkShape& shape);

class Network : public LayerStack {
 public:
  Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype)
      : Network(graph_of(shape), seed, dtype) {}
  // (N, 3, H, W), from 0 to 255 -> logits (N, classes) in f32.
  torch::Tensor forward(const torch::Tensor& images);
  // forward() as consecutive layers for pipeline parallelism: stem, blocks, classifier.
  std::vector<train::Layer> parts();

 private:
  Network(Graph graph, std::uint64_t seed, torch::ScalarType dtype);
  const Graph graph_;
};

}  // namespace tutti::models::resnet
