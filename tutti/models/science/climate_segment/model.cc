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
  // Pictures of a level that are seen together; nothing is joined in memory.
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
  DeepLab(const DeepLabShape& shape, std::uint64_t seed, torch::ScalarType dtype)
      : Network(layers_of(shape), seed, dtype), shape_(shape) {}

 protected:
  Tensor scores(const Tensor& fields) override {
    Tensor x = torch::max_pool2d(apply("stem", fields), 3, 2, 1), low;
    for (std::size_t block = 0; block < shape_.units.size(); ++block)
      for (int i = 0; i < shape_.units[block]; ++i)
        x = unit(fmt::format("block{}_{}", block + 1, i + 1), x, low);
    return decode(pyramid(layer("code_norm", x)), low, fields);
  }

 private:
  Tensor layer(const std::string& name, at::TensorList inputs) { return apply(name, inputs, true); }

  // `low` gets the finest narrow features: those inside the first unit, at a quarter.
  Tensor unit(const std::string& name, const Tensor& input, Tensor& low) {
    const Tensor active = layer(name + "_norm", input), narrow = layer(name + "_a", active);
    if (!low.defined()) low = narrow;
    const Tensor x = apply(name + "_c", layer(name + "_b", narrow));
    if (x.size(1) != input.size(1)) return x + apply(name + "_shortcut", active);
    return x + (x.size(2) != input.size(2) ? torch::max_pool2d(input, 1, 2) : input);
  }

  Tensor pyramid(const Tensor& code) {
    std::vector<Tensor> parts = {layer("pyramid0", code)};
    for (std::size_t i = 1; i <= shape_.rates.size(); ++i)
      parts.push_back(layer(fmt::format("pyramid{}", i), code));
    const Tensor mean = at_least_f32(code).mean({2, 3}, true);
    parts.push_back(layer("pyramid_mean", mean).expand_as(parts[0]));
    return layer("pyramid_joint", parts);
  }

  Tensor decode(Tensor x, const Tensor& low, const Tensor& fields) {
    x = layer("decode2", layer("decode1", {layer("double1", x), layer("low", low)}));
    x = layer("double3", layer("double2", x));
    x = layer("decode3", {x, layer("input2", layer("input1", fields))});
    return apply("last", layer("decode4", x));
  }

  const DeepLabShape shape_;
};

}  // namespace

Network::Network(std::vector<Layer> layers, std::uint64_t seed, torch::ScalarType dtype)
    : LayerStack(std::move(layers), seed, dtype) {
  const std::int64_t channels = this->layers().front().in;
  mean_ = register_buffer("input_mean", torch::zeros({1, channels, 1, 1}));
  spread_ = register_buffer("input_spread", torch::ones({1, channels, 1, 1}));
}

void Network::set_scale(std::span<const float> mean, std::span<const float> spread) {
  const torch::NoGradGuard no_gradients;
  std::copy(mean.begin(), mean.end(), mean_.data_ptr<float>());
  std::copy(spread.begin(), spread.end(), spread_.data_ptr<float>());
}

Tensor Network::forward(const Tensor& fields) {
  return at_least_f32(scores(((fields - mean_) / spread_).to(dtype())));
}

std::unique_ptr<Network> make_network(const TiramisuShape& shape, std::uint64_t seed,
                                      torch::ScalarType dtype) {
  return std::make_unique<Tiramisu>(shape, seed, dtype);
}

std::unique_ptr<Network> make_network(const DeepLabShape& shape, std::uint64_t seed,
                                      torch::ScalarType dtype) {
  return std::make_unique<DeepLab>(shape, seed, dtype);
}

}  // namespace tutti::models::climate_segment
