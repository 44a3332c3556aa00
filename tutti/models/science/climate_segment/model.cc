#include "tutti/models/science/climate_segment/model.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace tutti::models::climate_segment {
namespace {

using torch::Tensor;

class Tiramisu : public Network {
 public:
  Tiramisu(const TiramisuShape& shape, std::uint64_t seed, torch::ScalarType dtype)
      : Network(layers_of(shape), seed, dtype), shape_(shape) {}

 protected:
  // Features of a level that are concatenated logically, not in memory.
  using Features = std::vector<Tensor>;

  Tensor scores(const Tensor& fields) override {
    kernels::DenseFeatures block{{apply("first", fields, true)}, {}, {}};
    std::vector<Features> skips;
    for (std::size_t b = 0; b < shape_.down.size(); ++b) {
      const bool is_last = b + 1 == shape_.down.size();
      block = dense(fmt::format("down{}", b), shape_.down[b], block.inputs, !is_last);
      if (is_last) break;
      skips.push_back(joint(block.inputs, block.added));
      block.inputs = {drop(apply_halving(fmt::format("halve{}", b), block, true))};
    }
    for (std::size_t b = 0; b < shape_.up.size(); ++b) {
      const Tensor doubled = apply(fmt::format("double{}", b), block.added);
      block = dense(fmt::format("up{}", b), shape_.up[b],
                    joint(skips[skips.size() - 1 - b], {doubled}), false);
    }
    return apply("last", joint(block.inputs, block.added));
  }

 private:
  bool drops() const { return is_training() && shape_.dropout > 0; }
  Tensor drop(const Tensor& x) const {
    return drops() ? torch::dropout(x, shape_.dropout, true) : x;
  }
  static Features joint(Features first, const Features& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
  kernels::DenseFeatures dense(const std::string& block, int count, const Features& inputs,
                               bool wants_even) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back(fmt::format("{}_{}", block, i));
    if (!drops()) return apply_dense(names, inputs, wants_even);
    Features added;
    for (const std::string& name : names)
      added.push_back(drop(apply(name, joint(inputs, added), true)));
    return {inputs, added, {}};
  }

  const TiramisuShape shape_;
};

class DeepLab : public Network {
 public:
  DeepLab(Graph graph, std::uint64_t seed, torch::ScalarType dtype)
      : Network(graph.layers(), seed, dtype), graph_(std::move(graph)) {}

 protected:
  Tensor scores(const Tensor& fields) override { return run(graph_, fields); }

 private:
  const Graph graph_;
};

}  // namespace

Network::Network(std::vector<Layer> layers, std::uint64_t seed, torch::ScalarType dtype)
    : LayerStack(std::move(layers), seed, dtype) {
  add_input_scale(this->layers().front().in, 0, 1);
}

Tensor Network::forward(const Tensor& fields) {
  return at_least_f32(scores(scaled(fields).to(dtype())));
}

std::unique_ptr<Network> make_network(const TiramisuShape& shape, std::uint64_t seed,
                                      torch::ScalarType dtype) {
  return std::make_unique<Tiramisu>(shape, seed, dtype);
}

std::unique_ptr<Network> make_network(const DeepLabShape& shape, std::uint64_t seed,
                                      torch::ScalarType dtype) {
  return std::make_unique<DeepLab>(graph_of(shape), seed, dtype);
}

}  // namespace tutti::models::climate_segment
