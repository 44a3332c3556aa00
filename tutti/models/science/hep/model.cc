#include "tutti/models/science/hep/model.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cmath>

#include "tutti/core/random.h"
#include "tutti/kernels/conv2d/conv.h"

namespace tutti::models::hep {
namespace {

constexpr int kKernel = 3;

torch::Tensor he_normal(std::vector<std::int64_t> sizes, std::int64_t fan_in,
                        torch::Generator generator) {
  return torch::randn(sizes, generator) * std::sqrt(2.0 / static_cast<double>(fan_in));
}

}  // namespace

std::vector<Layer> layers(const NetworkShape& shape) {
  std::vector<Layer> result;
  int side = shape.image, in = shape.channels;
  for (int i = 0; i < shape.layers; ++i) {
    result.push_back({.name = fmt::format("conv{}", i + 1),
                      .in = in,
                      .out = shape.filters,
                      .kernel = kKernel,
                      .height = side,
                      .width = side});
    in = shape.filters;
    side /= 2;
  }
  result.push_back({.name = "linear", .in = in, .out = shape.classes});
  return result;
}

Network::Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype)
    : shape_(shape), dtype_(dtype) {
  torch::Generator generator = at::detail::createCPUGenerator(seed);
  std::int64_t in = shape.channels;
  for (int i = 0; i < shape.layers; ++i) {
    weights_.push_back(register_parameter(
        fmt::format("conv{}_weight", i + 1),
        he_normal({shape.filters, in, kKernel, kKernel}, in * kKernel * kKernel, generator)));
    biases_.push_back(
        register_parameter(fmt::format("conv{}_bias", i + 1), torch::zeros({shape.filters})));
    in = shape.filters;
  }
  last_weight_ =
      register_parameter("linear_weight", he_normal({shape.classes, in}, 2 * in, generator));
  last_bias_ = register_parameter("linear_bias", torch::zeros({shape.classes}));
}

torch::Tensor Network::forward(const torch::Tensor& images, std::uint64_t seed) {
  torch::Tensor x = images;
  for (int i = 0; i < layers(); ++i) x = forward_layer(i, x, seed);
  return x;
}

torch::Tensor Network::forward_layer(int layer, const torch::Tensor& input, std::uint64_t seed) {
  const auto i = static_cast<std::size_t>(layer);
  if (i == weights_.size()) {
    const torch::Tensor mean = torch::relu(input).to(torch::kFloat32).mean({2, 3});
    return torch::addmm(last_bias_, mean, last_weight_.t());
  }
  const double drop = is_training() ? shape_.dropout : 0;
  if (i == 0 && weights_.size() > 1)
    return kernels::first_conv_pool_relu_drop(input, weights_[0], biases_[0], dtype_, drop,
                                              mixed_seed(seed, i));
  // Scales the weights instead of the activations for dropout: there are fewer of them.
  const torch::Tensor weight = i > 0 && drop > 0 ? weights_[i] / (1 - drop) : weights_[i];
  const torch::Tensor x = kernels::conv_same(input, weight, biases_[i], dtype_);
  return i + 1 < weights_.size() ? kernels::pool_relu_drop(x, drop, mixed_seed(seed, i)) : x;
}

}  // namespace tutti::models::hep
