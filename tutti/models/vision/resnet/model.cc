#include "tutti/models/vision/resnet/model.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "tutti/core/error.h"

namespace tutti::models::resnet {
namespace {

struct Plan {
  std::vector<int> blocks;  // of each stage
  int filters = 64;
  bool is_bottleneck = false, is_small = false;
};

Plan plan_of(int depth) {
  switch (depth) {
    case 18: return {{2, 2, 2, 2}};
    case 34: return {{3, 4, 6, 3}};
    case 50: return {{3, 4, 6, 3}, 64, true};
    case 101: return {{3, 4, 23, 3}, 64, true};
    case 152: return {{3, 8, 36, 3}, 64, true};
    default: break;
  }
  if (depth % 6 != 2)
    throw ConfigError("DDL-1-94", fmt::format("Unknown depth of a residual network: {}. Valid: 18, "
                                              "34, 50, 101, 152, 20, 32, 44, 56, 110.",
                                              depth));
  const int blocks = (depth - 2) / 6;
  return {{blocks, blocks, blocks}, 16, false, true};
}

using Id = Graph::Id;

}  // namespace

Graph graph_of(const NetworkShape& shape) {
  const Plan plan = plan_of(shape.depth);
  const bool is_large = !plan.is_small && shape.has_large_stem;
  Graph graph(3, shape.image, shape.image);
  auto conv = [&](const std::string& name, Id input, int out, int kernel, int stride,
                  Activation activation, bool zero_init_gamma = false) {
    return graph.layer({.name = name,
                        .out = out,
                        .kernel = kernel,
                        .stride = stride,
                        .has_bias = false,
                        .has_norm = true,
                        .zero_init_gamma = zero_init_gamma},
                       {input}, activation);
  };
  using enum Activation;
  auto block = [&](const std::string& name, Id input, int filters, int stride) {
    const int out = plan.is_bottleneck ? 4 * filters : filters;
    Id x = input;
    if (plan.is_bottleneck) {
      x = conv(name + "_a", x, filters, 1, 1, kRelu);
      x = conv(name + "_b", x, filters, 3, stride, kRelu);
      x = conv(name + "_c", x, out, 1, 1, kNone, true);
    } else {
      x = conv(name + "_a", x, filters, 3, stride, kRelu);
      x = conv(name + "_b", x, out, 3, 1, kNone, true);
    }
    const bool has_shortcut = stride != 1 || graph.channels(input) != out;
    return graph.add(
        x, has_shortcut ? conv(name + "_shortcut", input, out, 1, stride, kNone) : input, kRelu);
  };
  Id x = conv("stem", Graph::kInput, plan.filters, is_large ? 7 : 3, is_large ? 2 : 1, kRelu);
  if (is_large) x = graph.max_pool(x, 3, 2);
  int filters = plan.filters;
  for (std::size_t stage = 0; stage < plan.blocks.size(); ++stage, filters *= 2)
    for (int i = 0; i < plan.blocks[stage]; ++i)
      x = block(fmt::format("stage{}_{}", stage + 1, i + 1), x, filters,
                stage > 0 && i == 0 ? 2 : 1);
  graph.layer({.name = "linear", .out = shape.classes}, {graph.mean(x)});
  return graph;
}

Network::Network(Graph graph, std::uint64_t seed, torch::ScalarType dtype)
    : LayerStack(graph.layers(), seed, dtype), graph_(std::move(graph)) {
  add_input_scale(3, 128, 64);
}

torch::Tensor Network::forward(const torch::Tensor& images) {
  return at_least_f32(run(graph_, scaled(images))).flatten(1);
}

std::vector<train::Layer> Network::parts() {
  std::vector<train::Layer> all = LayerStack::parts(graph_);
  all.front().forward = [this, first = all.front().forward](const torch::Tensor& x,
                                                            std::uint64_t seed) {
    return first(scaled(x), seed);
  };
  all.back().forward = [last = all.back().forward](const torch::Tensor& x, std::uint64_t seed) {
    return at_least_f32(last(x, seed)).flatten(1);
  };
  return all;
}

}  // namespace tutti::models::resnet
