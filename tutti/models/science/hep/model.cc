#include "tutti/models/science/hep/model.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>

#include "tutti/models/ops/conv.h"
#include "tutti/train/run/sampler.h"

namespace tutti::models::hep {
namespace {

constexpr int kKernel = 3;

torch::Tensor he_normal(std::vector<std::int64_t> sizes, std::int64_t fan_in,
                        torch::Generator generator) {
  return torch::randn(sizes, generator) * std::sqrt(2.0 / static_cast<double>(fan_in));
}

// Visits (inputs, outputs, side of the picture) of every convolution.
template <class Visit>
void each_convolution(const NetworkShape& shape, Visit visit) {
  double side = shape.image, in = shape.channels;
  for (int i = 0; i < shape.layers; ++i) {
    visit(i, in, double(shape.filters), side);
    in = shape.filters;
    side = std::floor(side / 2);
  }
}

}  // namespace

std::int64_t parameter_count(const NetworkShape& shape) {
  std::int64_t count = std::int64_t{shape.filters} * shape.classes + shape.classes;
  each_convolution(shape, [&](int, double in, double out, double) {
    count += static_cast<std::int64_t>(in * out * kKernel * kKernel + out);
  });
  return count;
}

double layer_flops(const NetworkShape& shape, int layer) {
  double flops = 2.0 * shape.filters * shape.classes;
  each_convolution(shape, [&](int i, double in, double out, double side) {
    if (i == layer) flops = 2 * in * out * kKernel * kKernel * side * side;
  });
  return flops;
}

double forward_flops(const NetworkShape& shape) {
  double flops = 2.0 * shape.filters * shape.classes;
  each_convolution(shape, [&](int, double in, double out, double side) {
    flops += 2 * in * out * kKernel * kKernel * side * side;
  });
  return flops;
}

double output_values(const NetworkShape& shape) {
  double values = 0;
  each_convolution(shape,
                   [&](int, double, double out, double side) { values += out * side * side; });
  return values;
}

double train_flops(const NetworkShape& shape) {
  double first = 0;  // nobody asks for the gradient of the image
  each_convolution(shape, [&](int i, double in, double out, double side) {
    if (i == 0) first = 2 * in * out * kKernel * kKernel * side * side;
  });
  return 3 * forward_flops(shape) - first;
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
    return first_conv_pool_relu_drop(input, weights_[0], biases_[0], dtype_, drop,
                                     train::mixed_seed(seed, i));
  // What dropout leaves must weigh more; the weights are fewer than the activations.
  const torch::Tensor weight = i > 0 && drop > 0 ? weights_[i] / (1 - drop) : weights_[i];
  const torch::Tensor x = conv_same(input, weight, biases_[i], dtype_);
  return i + 1 < weights_.size() ? pool_relu_drop(x, drop, train::mixed_seed(seed, i)) : x;
}

}  // namespace tutti::models::hep
