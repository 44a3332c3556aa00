#include "tutti/models/nets/graph.h"

#include <algorithm>
#include <utility>

namespace tutti::models {

using Kind = Graph::Node::Kind;

Graph::Graph(int channels, int height, int width) {
  push({.inputs = {}, .channels = channels, .height = height, .width = width});
}

Graph::Id Graph::push(Node node) {
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

Graph::Id Graph::layer(Layer layer, const std::vector<Id>& inputs, Activation activation) {
  const Node& first = nodes_[inputs.front()];
  layer.in = 0;
  for (const Id input : inputs) layer.in += nodes_[input].channels;
  if (layer.kernel == 0) layer.out = layer.in;
  auto resized = [&](int side) {
    return layer.is_transposed ? side * layer.stride : (side + layer.stride - 1) / layer.stride;
  };
  layer.height = resized(first.height);
  layer.width = resized(first.width);
  layer.sees_input = std::ranges::count(inputs, kInput) > 0;
  layers_.push_back(layer);
  return push({.kind = Kind::kLayer,
               .inputs = inputs,
               .channels = layer.out,
               .height = layer.height,
               .width = layer.width,
               .activation = activation,
               .layer = layers_.size() - 1});
}

Graph::Id Graph::add(Id a, Id b, Activation activation) {
  Node node = nodes_[a];
  node.kind = Kind::kAdd;
  node.inputs = {a, b};
  node.activation = activation;
  return push(std::move(node));
}

Graph::Id Graph::max_pool(Id input, int kernel, int stride) {
  auto pooled = [&](int side) { return (side + 2 * (kernel / 2) - kernel) / stride + 1; };
  return push({.kind = Kind::kMaxPool,
               .inputs = {input},
               .channels = nodes_[input].channels,
               .height = pooled(nodes_[input].height),
               .width = pooled(nodes_[input].width),
               .kernel = kernel,
               .stride = stride});
}

Graph::Id Graph::mean(Id input) {
  return push({.kind = Kind::kMean,
               .inputs = {input},
               .channels = nodes_[input].channels,
               .height = 1,
               .width = 1});
}

Graph::Id Graph::expand(Id input, Id pattern) {
  return push({.kind = Kind::kExpand,
               .inputs = {input, pattern},
               .channels = nodes_[input].channels,
               .height = nodes_[pattern].height,
               .width = nodes_[pattern].width});
}

std::vector<Graph::Id> Graph::cuts() const {
  std::vector<Id> last_use(nodes_.size(), 0), found;
  for (Id id = 0; id < nodes_.size(); ++id)
    for (const Id input : nodes_[id].inputs) last_use[input] = id;
  Id needed_until = 0;  // by the nodes before `id`
  for (Id id = 0; id + 1 < nodes_.size(); ++id) {
    if (id > kInput && needed_until <= id && nodes_[id + 1].kind == Kind::kLayer)
      found.push_back(id);
    needed_until = std::max(needed_until, last_use[id]);
  }
  return found;
}

}  // namespace tutti::models
