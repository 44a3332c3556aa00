#include "tutti/models/vision/unet3d/model.h"

#include <torch/nn/module.h>
#include <torch/types.h>

#include <array>
#include <cmath>

#include "tutti/kernels/amx/amx.h"
#include "tutti/kernels/conv3d/volume.h"
#include "tutti/models/nets/layer_stack.h"

namespace tutti::models::unet3d {
namespace {

using torch::Tensor;

constexpr std::array<int, kLabels> kLabelNames = {kNecrosis, kOedema, kEnhancing};
constexpr double kLastBias = -3;  // few voxels are tumour, and learning that alone takes long
constexpr double kNormEpsilon = 1e-5, kDiceEpsilon = 1e-5;

Tensor he_normal(const Layer& layer, const torch::Generator& generator) {
  const std::int64_t k = layer.kernel;
  const bool is_transposed = k == 2;  // every output uses one tap of the kernel
  const double taps = is_transposed ? 1 : double(k * k * k);
  const std::int64_t first = is_transposed ? layer.in : layer.out,
                     second = is_transposed ? layer.out : layer.in;
  return torch::randn({first, second, k, k, k}, generator) * std::sqrt(2 / (layer.in * taps));
}

// Channels of a voxel contiguous, as stored, and back.
Tensor channels_last(const Tensor& volumes) {
  return volumes.permute({0, 2, 3, 4, 1});
}
Tensor channels_first(const Tensor& volumes) {
  return volumes.permute({0, 4, 1, 2, 3});
}

// Every image with mean 0 and unit variance.
Tensor scaled(const Tensor& images) {
  const auto [variance, mean] = torch::var_mean(images, {2, 3, 4}, false, true);
  return (images - mean) / (variance + kNormEpsilon).sqrt();
}

// (N, label, side, side, side): 1 in voxels of each label.
Tensor maps_of(const Tensor& labels) {
  std::vector<Tensor> maps;
  for (int label : kLabelNames) maps.push_back(labels == label);
  return torch::stack(maps, 1);
}

Tensor halved(const Tensor& volumes) {
  return torch::max_pool3d(at_least_f32(volumes), 2).to(volumes.scalar_type());
}

Tensor packed(const std::vector<Tensor>& volumes) {
  std::vector<Tensor> rows;
  for (const Tensor& each : volumes) rows.push_back(channels_last(each).flatten(1));
  return torch::cat(rows, 1);
}

std::vector<Tensor> unpacked(const Tensor& values, const std::vector<Part>& parts) {
  std::vector<Tensor> volumes;
  std::int64_t at = 0;
  for (const Part& part : parts) {
    const std::int64_t side = part.side, count = side * side * side * part.channels;
    volumes.push_back(
        channels_first(values.narrow(1, at, count).reshape({-1, side, side, side, part.channels})));
    at += count;
  }
  return volumes;
}

}  // namespace

Network::Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype)
    : shape_(shape), dtype_(dtype) {
  const torch::Generator generator = at::detail::createCPUGenerator(seed);
  for (const std::vector<Layer>& step : steps_of(shape)) {
    std::vector<Convolution>& convolutions = convolutions_.emplace_back();
    for (const Layer& layer : step) {
      Convolution& each = convolutions.emplace_back();
      each.layer = layer;
      each.weight = register_parameter(layer.name + "_weight", he_normal(layer, generator));
      const double bias = layer.kernel == 1 ? kLastBias : 0;
      each.bias = register_parameter(layer.name + "_bias", torch::full({layer.out}, bias));
      if (!layer.has_norm) continue;
      each.scale = register_parameter(layer.name + "_scale", torch::ones({layer.out}));
      each.shift = register_parameter(layer.name + "_shift", torch::zeros({layer.out}));
    }
  }
}

Tensor Network::convolved(const Convolution& convolution, const Tensor& input) const {
  Tensor x = kernels::conv_volume(input, convolution.weight, convolution.bias, dtype_, 1,
                                  convolution.layer.kernel / 2);
  if (convolution.scale.defined())
    x = torch::instance_norm(at_least_f32(x), convolution.scale, convolution.shift, {}, {}, true, 0,
                             kNormEpsilon, false)
            .to(dtype_);
  return convolution.layer.kernel == 3 ? x.relu_() : x;
}

Tensor Network::doubled_by_library(const Convolution* convolution, const Tensor& input) const {
  const Tensor x = at_least_f32(input);
  const std::int64_t side = 2 * x.size(2);
  const Tensor y = convolution ? torch::conv_transpose3d(x, convolution->weight.to(x.scalar_type()),
                                                         convolution->bias.to(x.scalar_type()), 2)
                               : torch::upsample_nearest3d(x, {side, side, side});
  return y.to(dtype_);
}

// A kernel of 2 with stride 2 is a matrix product: each voxel computes the eight of a cube.
Tensor Network::doubled(const Convolution* convolution, const Tensor& input) const {
  if (uses_library_operators_) return doubled_by_library(convolution, input);
  const Tensor voxels = channels_last(input);
  const std::int64_t side = 2 * voxels.size(1);
  Tensor cubes;
  if (convolution) {
    const std::int64_t in = convolution->layer.in, out = convolution->layer.out;
    const Tensor taps = convolution->weight.permute({0, 2, 3, 4, 1}).reshape({in, 8 * out});
    // Without AMX, bf16 products are computed in f32 and rounded, as in convolutions: libtorch tries bf16 instructions
    // on CPUs that do not have them.
    const auto type =
        kernels::has_matrix_units() || dtype_ == torch::kFloat64 ? dtype_ : torch::kFloat32;
    cubes = (torch::matmul(voxels.to(type), taps.to(type)) + convolution->bias.repeat({8}).to(type))
                .to(dtype_)
                .reshape({-1, side / 2, side / 2, side / 2, 2, 2, 2, out})
                .permute({0, 1, 4, 2, 5, 3, 6, 7});
  } else {
    cubes = voxels.unsqueeze(2).unsqueeze(4).unsqueeze(6).expand({-1, -1, 2, -1, 2, -1, 2, -1});
  }
  return channels_first(cubes.reshape({-1, side, side, side, cubes.size(7)}));
}

void Network::run(int step, Volumes& volumes) const {
  const std::vector<Convolution>& convolutions = convolutions_[static_cast<std::size_t>(step)];
  Tensor x = volumes.back();
  volumes.pop_back();
  const bool is_up = step >= shape_.depth && step + 1 < steps();
  if (is_up) {
    const bool has_own = convolutions[0].layer.kernel == 2;
    x = torch::cat({doubled(has_own ? &convolutions[0] : nullptr, x), volumes.back()}, 1);
    volumes.pop_back();
  }
  for (const Convolution& each : convolutions)
    if (each.layer.kernel != 2) x = convolved(each, x);
  if (step + 1 < shape_.depth) {
    volumes.push_back(x);
    x = halved(x);
  }
  volumes.push_back(x);
}

Tensor Network::forward(const Tensor& images) {
  Volumes volumes = {scaled(images)};
  for (int step = 0; step < steps(); ++step) run(step, volumes);
  return at_least_f32(volumes.back());
}

Tensor Network::forward_step(int step, const Tensor& input) {
  Volumes volumes =
      step == 0 ? Volumes{scaled(input)} : unpacked(input, parts_before(shape_, step));
  run(step, volumes);
  return step + 1 == steps() ? at_least_f32(volumes.back()) : packed(volumes);
}

std::size_t Network::step_tensors(int step) const {
  std::size_t count = 0;
  for (const Convolution& each : convolutions_[static_cast<std::size_t>(step)])
    count += each.scale.defined() ? 4 : 2;
  return count;
}

double Network::step_flops(int step) const {
  double flops = 0;
  for (const Convolution& each : convolutions_[static_cast<std::size_t>(step)])
    flops += flops_of(each.layer);
  return flops;
}

Tensor dice_loss(const Tensor& scores, const Tensor& labels) {
  const Tensor found = torch::sigmoid(scores), truth = maps_of(labels).to(found.dtype());
  const std::vector<std::int64_t> space = {2, 3, 4};
  const Tensor both = (found * truth).sum(space), all = found.sum(space) + truth.sum(space);
  return 1 - ((2 * both + kDiceEpsilon) / (all + kDiceEpsilon)).mean();
}

Tensor label_entropy(const Tensor& scores, const Tensor& labels) {
  const std::vector<std::int64_t> all_but_label = {0, 2, 3, 4};
  const Tensor truth = maps_of(labels).to(scores.dtype());
  const Tensor share = truth.mean(all_but_label, true).clamp_min(1.0 / double(labels.numel()));
  const Tensor weight = 1 + truth * (share.rsqrt() - 1);
  const Tensor entropy =
      torch::binary_cross_entropy_with_logits(scores, truth, weight, {}, at::Reduction::None);
  return (entropy.sum(all_but_label) / weight.sum(all_but_label)).mean();
}

Tensor labels_of(const Tensor& scores) {
  const auto [score, which] = scores.max(1);
  Tensor labels = torch::zeros_like(which, torch::kUInt8);
  for (std::int64_t i = 0; i < kLabels; ++i)
    labels.masked_fill_((which == i).logical_and(score > 0), kLabelNames[std::size_t(i)]);
  return labels;
}

}  // namespace tutti::models::unet3d
