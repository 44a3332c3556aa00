#include "tutti/models/science/climate_segment/model.h"

#include <fmt/format.h>
#include <torch/torch.h>

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
    Features seen = {apply("first", fields, true)}, added;
    std::vector<Features> skips;
    for (std::size_t b = 0; b < shape_.down.size(); ++b) {
      added = dense(fmt::format("down{}", b), shape_.down[b], seen);
      if (b + 1 == shape_.down.size()) break;
      skips.push_back(joint(std::move(seen), added));
      seen = {drop(apply(fmt::format("halve{}", b), skips.back(), true))};
    }
    for (std::size_t b = 0; b < shape_.up.size(); ++b) {
      seen = joint(skips[skips.size() - 1 - b], {apply(fmt::format("double{}", b), added)});
      added = dense(fmt::format("up{}", b), shape_.up[b], seen);
    }
    return apply("last", joint(std::move(seen), added));
  }

 private:
  Tensor drop(const Tensor& x) const {
    return is_training() && shape_.dropout > 0 ? torch::dropout(x, shape_.dropout, true) : x;
  }
  static Features joint(Features first, const Features& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
  // What the layers of the block add to what they see.
  Features dense(const std::string& name, int count, Features seen) {
    const auto first = std::ssize(seen);
    for (int i = 0; i < count; ++i)
      seen.push_back(drop(apply(fmt::format("{}_{}", name, i), seen, true)));
    return {seen.begin() + first, seen.end()};
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
