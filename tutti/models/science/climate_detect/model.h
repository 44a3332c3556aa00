// The network for storms of "Deep Learning at 15PF" (arXiv:1708.05256): convolutions down to a map
// from which the input is drawn again, and one more to a grid of cells, each of which says whether
// the centre of a storm lies in it, of which kind, and where its box is.
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
  torch::Tensor has_storm;  // (N, 2, rows, columns): yes, no; before the softmax
  torch::Tensor kind;       // (N, kinds, rows, columns); before the softmax
  torch::Tensor drawn;      // the scaled input, drawn again; undefined when not asked for
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

// What is right of one frame of a batch.
struct DetectorTargets {
  torch::Tensor boxes, has_storm, kind;  // as in Targets
  torch::Tensor is_labelled;             // (N), 0 or 1
};
// Of the labelled frames, per frame: 5 |x, y| + 7 |w, h| (smooth) where a storm is, -log of the
// confidence there and half of it elsewhere, cross-entropy of the kind. `weight` times the mean
// squared error of the drawing is added, over all frames.
torch::Tensor loss_of(const DetectorOutput& output, const DetectorTargets& targets, double weight);

}  // namespace tutti::models::climate_detect
