#include "tutti/models/science/climate_detect/model.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace tutti::models::climate_detect {
namespace {

using torch::Tensor;
constexpr double kSlope = 0.1;

Tensor leaky(const Tensor& x) {
  return torch::leaky_relu(x, kSlope);
}

}  // namespace

std::vector<Layer> layers_of(const NetworkShape& shape) {
  std::vector<Layer> layers;
  int height = shape.height, width = shape.width, in = shape.channels;
  auto add = [&](const std::string& name, int from, int out, int kernel, int stride,
                 bool is_transposed = false) {
    layers.push_back({.name = name,
                      .in = from,
                      .out = out,
                      .kernel = kernel,
                      .stride = stride,
                      .height = height,
                      .width = width,
                      .is_transposed = is_transposed});
  };
  for (std::size_t i = 0; i < shape.filters.size(); ++i) {
    height = (height + 1) / 2;
    width = (width + 1) / 2;
    add(fmt::format("encode{}", i), in, shape.filters[i], 5, 2);
    in = shape.filters[i];
  }
  const int map_height = height, map_width = width;
  height = (height + 1) / 2;
  width = (width + 1) / 2;
  add("code", in, shape.code, 3, 2);
  add("place", shape.code, 4, 3, 1);
  add("has_storm", shape.code, 2, 3, 1);
  add("kind", shape.code, shape.kinds, 3, 1);
  height = map_height;
  width = map_width;
  for (std::size_t i = shape.filters.size(); i > 0; --i) {
    height *= 2;
    width *= 2;
    const int out = i > 1 ? shape.filters[i - 2] : shape.channels;
    add(fmt::format("draw{}", i - 1), in, out, 5, 2, true);
    in = out;
  }
  return layers;
}

Network::Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype)
    : LayerStack(layers_of(shape), seed, dtype), shape_(shape) {
  mean_ = register_buffer("input_mean", torch::zeros({1, shape.channels, 1, 1}));
  spread_ = register_buffer("input_spread", torch::ones({1, shape.channels, 1, 1}));
}

void Network::set_scale(std::span<const float> mean, std::span<const float> spread) {
  const torch::NoGradGuard no_gradients;
  std::copy(mean.begin(), mean.end(), mean_.data_ptr<float>());
  std::copy(spread.begin(), spread.end(), spread_.data_ptr<float>());
}

Said Network::forward(const Tensor& fields, bool draws) {
  Said said;
  said.scaled = (fields - mean_) / spread_;
  Tensor x = said.scaled.to(dtype());
  for (std::size_t i = 0; i < shape_.filters.size(); ++i)
    x = leaky(apply(fmt::format("encode{}", i), x));
  const Tensor code = leaky(apply("code", x));
  said.place = at_least_f32(apply("place", code));
  said.has_storm = at_least_f32(apply("has_storm", code));
  said.kind = at_least_f32(apply("kind", code));
  if (!draws) return said;
  for (std::size_t i = shape_.filters.size(); i > 0; --i) {
    x = apply(fmt::format("draw{}", i - 1), x);
    if (i > 1) x = leaky(x);
  }
  said.drawn = at_least_f32(x);
  return said;
}

Tensor loss_of(const Said& said, const Answers& answers, double weight) {
  const Tensor shown = answers.is_labelled.view({-1, 1, 1});
  const Tensor storm = answers.has_storm * shown, calm = (1 - answers.has_storm) * shown;
  const Tensor misplaced = torch::smooth_l1_loss(said.place, answers.place, at::Reduction::None);
  const Tensor places = 5 * misplaced.narrow(1, 0, 2).sum(1) + 7 * misplaced.narrow(1, 2, 2).sum(1);
  const Tensor sure = torch::log_softmax(said.has_storm, 1);
  const Tensor kinds =
      torch::nll_loss2d(torch::log_softmax(said.kind, 1), answers.kind, {}, at::Reduction::None);
  const Tensor found =
      (storm * (places - sure.select(1, 0) + kinds)).sum() - 0.5 * (calm * sure.select(1, 1)).sum();
  // Per labelled frame, so that it weighs the same however few they are.
  const Tensor loss = found / torch::clamp_min(answers.is_labelled.sum(), 1);
  if (weight == 0) return loss;
  return loss + weight * torch::mse_loss(said.drawn, said.scaled);
}

}  // namespace tutti::models::climate_detect
