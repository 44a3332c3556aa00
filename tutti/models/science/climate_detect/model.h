// The storm detector of "Deep Learning at 15PF" (arXiv:1708.05256): an encoder, a decoder that reconstructs the input,
// and one more convolution to a grid of cells. Each cell predicts whether it contains the centre of a storm, the kind
// of the storm, and its box.
#pragma once

#include <vector>

#include "tutti/models/nets/layer_stack.h"

namespace tutti::models::climate_detect {

struct NetworkShape {
  int height = 768, width = 768, channels = 16, kinds = 4;
  std::vector<int> filters = {128, 256, 512, 768, 1024};  // of the 5x5 convolutions of stride 2
  int code = 1280;                                        // of the 3x3 one of stride 2
  int cell() const { return 2 << filters.size(); }        // pixels along a side
};
struct NetworkGraph {
  Graph graph;
  Graph::Id boxes = 0, has_storm = 0, kind = 0, drawn = 0;  // as in DetectorOutput
};
NetworkGraph graph_of(const NetworkShape& shape);

struct DetectorOutput {
  torch::Tensor boxes;      // (N, 4, rows, columns)
  torch::Tensor has_storm;  // (N, 2, rows, columns): yes, no; logits
  torch::Tensor kind;       // (N, kinds, rows, columns); logits
  torch::Tensor drawn;      // reconstruction of the scaled input; undefined unless requested
  torch::Tensor scaled;     // the scaled input
};

class Network : public LayerStack {
 public:
  Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype);
  // (N, 16, H, W) in the units of the fields.
  DetectorOutput forward(const torch::Tensor& fields, bool draws);
  const NetworkShape& shape() const { return shape_; }

 private:
  const NetworkShape shape_;
  const NetworkGraph graph_;
};

// Targets of a batch.
struct DetectorTargets {
  torch::Tensor boxes, has_storm, kind;  // as in Targets
  torch::Tensor is_labelled;             // (N), 0 or 1
};
// Sum over the labelled frames, per frame: 5 |x, y| + 7 |w, h| (smooth L1) in cells with a storm, -log of the
// confidence there and half of it elsewhere, cross-entropy of the kind. `weight` times the mean squared error of the
// reconstruction is added, over all frames.
torch::Tensor loss_of(const DetectorOutput& output, const DetectorTargets& targets, double weight);

}  // namespace tutti::models::climate_detect
