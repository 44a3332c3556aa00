#include "tutti/models/science/climate_detect/model.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace tutti::models::climate_detect {
namespace {

using torch::Tensor;
using enum Activation;
using Id = Graph::Id;

}  // namespace

NetworkGraph graph_of(const NetworkShape& shape) {
  NetworkGraph all{Graph(shape.channels, shape.height, shape.width)};
  Graph& graph = all.graph;
  Id map = Graph::kInput;
  for (std::size_t i = 0; i < shape.filters.size(); ++i)
    map = graph.layer(
        {.name = fmt::format("encode{}", i), .out = shape.filters[i], .kernel = 5, .stride = 2},
        {map}, kLeaky);
  const Id code =
      graph.layer({.name = "code", .out = shape.code, .kernel = 3, .stride = 2}, {map}, kLeaky);
  all.boxes = graph.layer({.name = "place", .out = 4, .kernel = 3}, {code});
  all.has_storm = graph.layer({.name = "has_storm", .out = 2, .kernel = 3}, {code});
  all.kind = graph.layer({.name = "kind", .out = shape.kinds, .kernel = 3}, {code});
  all.drawn = map;
  for (std::size_t i = shape.filters.size(); i > 0; --i)
    all.drawn = graph.layer({.name = fmt::format("draw{}", i - 1),
                             .out = i > 1 ? shape.filters[i - 2] : shape.channels,
                             .kernel = 5,
                             .stride = 2,
                             .is_transposed = true},
                            {all.drawn}, i > 1 ? kLeaky : kNone);
  return all;
}

Network::Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype)
    : LayerStack(graph_of(shape).graph.layers(), seed, dtype),
      shape_(shape),
      graph_(graph_of(shape)) {
  add_input_scale(shape.channels, 0, 1);
}

DetectorOutput Network::forward(const Tensor& fields, bool draws) {
  DetectorOutput output;
  output.scaled = scaled(fields);
  std::vector<Id> wanted = {graph_.boxes, graph_.has_storm, graph_.kind};
  if (draws) wanted.push_back(graph_.drawn);
  const std::vector<Tensor> outputs = run(graph_.graph, output.scaled.to(dtype()), wanted);
  output.boxes = at_least_f32(outputs[0]);
  output.has_storm = at_least_f32(outputs[1]);
  output.kind = at_least_f32(outputs[2]);
  if (draws) output.drawn = at_least_f32(outputs[3]);
  return output;
}

Tensor loss_of(const DetectorOutput& output, const DetectorTargets& targets, double weight) {
  const Tensor shown = targets.is_labelled.view({-1, 1, 1});
  const Tensor storm = targets.has_storm * shown, calm = (1 - targets.has_storm) * shown;
  const Tensor box_errors = torch::smooth_l1_loss(output.boxes, targets.boxes, at::Reduction::None);
  const Tensor box_loss =
      5 * box_errors.narrow(1, 0, 2).sum(1) + 7 * box_errors.narrow(1, 2, 2).sum(1);
  const Tensor sure = torch::log_softmax(output.has_storm, 1);
  const Tensor kinds =
      torch::nll_loss2d(torch::log_softmax(output.kind, 1), targets.kind, {}, at::Reduction::None);
  const Tensor found = (storm * (box_loss - sure.select(1, 0) + kinds)).sum() -
                       0.5 * (calm * sure.select(1, 1)).sum();
  // Per labelled frame, so that its weight does not depend on their number.
  const Tensor loss = found / torch::clamp_min(targets.is_labelled.sum(), 1);
  if (weight == 0) return loss;
  return loss + weight * torch::mse_loss(output.drawn, output.scaled);
}

}  // namespace tutti::models::climate_detect
