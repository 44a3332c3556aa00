#include "tutti/models/science/cosmoflow/model.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/script.h>
#include <torch/types.h>

#include <cmath>

#include "tutti/core/error.h"
#include "tutti/core/random.h"
#include "tutti/kernels/conv3d/volume.h"
#include "tutti/train/batch_norm.h"

namespace tutti::models::cosmoflow {
namespace {

constexpr double kPaperSlope = 0.01, kMlperfSlope = 0.3;
constexpr double kNormMomentum = 0.1, kNormEpsilon = 1e-5;

double slope_of(const NetworkShape& shape) {
  return shape.is_mlperf ? kMlperfSlope : kPaperSlope;
}

double layer_flops(const Layer& layer) {
  return 2.0 * layer.in * layer.out * std::pow(layer.kernel, 3) * std::pow(layer.side, 3);
}

torch::Tensor means_of(const torch::Tensor& volumes) {
  return volumes.to(torch::kFloat32).mean({2, 3, 4});
}

torch::Tensor flat(const torch::Tensor& volumes) {
  return volumes.to(torch::kFloat32).contiguous().flatten(1);
}

torch::Tensor xavier(std::vector<std::int64_t> sizes, std::int64_t fan_in, std::int64_t fan_out,
                     const torch::Generator& generator) {
  const double limit = std::sqrt(6.0 / double(fan_in + fan_out));
  return (torch::rand(sizes, generator) * 2 - 1) * limit;
}

}  // namespace

std::vector<Layer> layers(const NetworkShape& shape) {
  std::vector<Layer> result;
  int side = shape.volume, in = shape.channels();
  auto add = [&](Layer layer) {
    layer.in = in;
    layer.side = (side + 2 * layer.padding - layer.kernel) / layer.stride + 1;
    layer.pooled = layer.has_pool ? layer.side / 2 : layer.side;
    if (side + 2 * layer.padding < layer.kernel || layer.pooled < 1) return false;
    result.push_back(layer);
    in = layer.out;
    side = layer.pooled;
    return true;
  };
  const int f = shape.filters;
  const std::vector<Layer> paper = {{0, f, 3, 1, 0, true},       {0, 2 * f, 4, 1, 0, true},
                                    {0, 4 * f, 4, 1, 0, true},   {0, 8 * f, 3, 2, 0, false},
                                    {0, 16 * f, 3, 1, 0, false}, {0, 16 * f, 2, 1, 0, false},
                                    {0, 16 * f, 2, 1, 0, false}};
  std::vector<Layer> mlperf;
  for (int i = 0; i < 5; ++i) mlperf.push_back({0, (2 * f) << i, 3, 1, 1, true});
  for (const Layer& layer : shape.is_mlperf ? mlperf : paper)
    if (!add(layer)) break;
  if (result.size() < 2)
    throw ConfigError(
        "DDL-1-99",
        fmt::format(
            "Volumes with a side of {} voxels are too small for this network. Use 32 or more.",
            shape.volume));
  return result;
}

std::vector<int> dense_widths(const NetworkShape& shape) {
  const std::vector<Layer> all = layers(shape);
  int flat = all.back().out * all.back().pooled * all.back().pooled * all.back().pooled;
  if (shape.reads_means) {
    flat = 0;
    for (const Layer& layer : all) flat += layer.out;
  }
  if (shape.is_mlperf) return {flat, 128, 64, shape.outputs()};
  return {flat, 128 * shape.filters, 16 * shape.filters, shape.outputs()};
}

std::int64_t parameter_count(const NetworkShape& shape) {
  std::int64_t count = 0;
  for (const Layer& layer : layers(shape))
    count += std::int64_t{layer.out} * (layer.in * layer.kernel * layer.kernel * layer.kernel + 1);
  const std::vector<int> widths = dense_widths(shape);
  for (std::size_t i = 1; i < widths.size(); ++i)
    count += std::int64_t{widths[i]} * (widths[i - 1] + 1);
  return count;
}

double forward_flops(const NetworkShape& shape) {
  double flops = 0;
  for (const Layer& layer : layers(shape)) flops += layer_flops(layer);
  const std::vector<int> widths = dense_widths(shape);
  for (std::size_t i = 1; i < widths.size(); ++i) flops += 2.0 * widths[i] * widths[i - 1];
  return flops;
}

double output_values(const NetworkShape& shape) {
  double values = 0;
  for (const Layer& layer : layers(shape))
    values +=
        layer.out * (std::pow(layer.side, 3) + (layer.has_pool ? std::pow(layer.pooled, 3) : 0));
  return values;
}

double train_flops(const NetworkShape& shape) {
  return 3 * forward_flops(shape) - layer_flops(layers(shape).front());
}

Network::Network(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype)
    : shape_(shape), dtype_(dtype), layers_(layers(shape)) {
  const torch::Generator generator = at::detail::createCPUGenerator(seed);
  const double bias = shape.is_mlperf ? 0 : 0.1;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& l = layers_[i];
    const std::int64_t taps = std::int64_t{l.kernel} * l.kernel * l.kernel;
    weights_.push_back(register_parameter(
        fmt::format("conv{}_weight", i + 1),
        xavier({l.out, l.in, l.kernel, l.kernel, l.kernel}, l.in * taps, l.out * taps, generator)));
    biases_.push_back(
        register_parameter(fmt::format("conv{}_bias", i + 1), torch::full({l.out}, bias)));
  }
  const std::vector<int> widths = dense_widths(shape);
  if (shape.has_norm) {
    norm_mean_ = register_buffer("norm_mean", torch::zeros({widths[0]}));
    norm_variance_ = register_buffer("norm_variance", torch::ones({widths[0]}));
  }
  for (std::size_t i = 1; i < widths.size(); ++i) {
    dense_weights_.push_back(register_parameter(
        fmt::format("dense{}_weight", i),
        xavier({widths[i], widths[i - 1]}, widths[i - 1], widths[i], generator)));
    dense_biases_.push_back(
        register_parameter(fmt::format("dense{}_bias", i),
                           torch::full({widths[i]}, i + 1 == widths.size() ? 0.0 : bias)));
  }
}

torch::Tensor Network::convolved(std::size_t i, const torch::Tensor& x) const {
  const double slope = slope_of(shape_);
  const Layer& layer = layers_[i];
  if (i == 0 && layer.in == 1 && layer.has_pool && layer.padding == 0 && layer.out % 8 == 0)
    return kernels::first_conv_leaky_mean_pool(x, weights_[i], biases_[i], dtype_, slope);
  const torch::Tensor y =
      kernels::conv_volume(x, weights_[i], biases_[i], dtype_, layer.stride, layer.padding);
  if (!layer.has_pool) return torch::leaky_relu(y, slope);
  if (!shape_.is_mlperf) return kernels::leaky_mean_pool(y, slope);
  // Leaky ReLU is monotonic, so it can follow the pooling, which leaves an eighth of the values.
  return torch::leaky_relu(torch::max_pool3d(y.to(torch::kFloat32), 2), slope);
}

torch::Tensor Network::dense(std::size_t i, torch::Tensor x, std::uint64_t seed) {
  if (i == 0 && shape_.has_norm)
    x = train::batch_norm(x, torch::ones({x.size(1)}), torch::zeros({x.size(1)}), norm_mean_,
                          norm_variance_, is_training(), kNormMomentum, kNormEpsilon);
  // The paper has dropout before each dense layer, MLPerf after each hidden one.
  if (is_training() && shape_.dropout > 0 && (i > 0 || !shape_.is_mlperf)) {
    const torch::Generator generator = at::detail::createCPUGenerator(mixed_seed(seed, i));
    x = x * torch::bernoulli(torch::full_like(x, 1 - shape_.dropout), generator) /
        (1 - shape_.dropout);
  }
  x = torch::addmm(dense_biases_[i], x, dense_weights_[i].t());
  if (i + 1 < dense_weights_.size()) return torch::leaky_relu(x, slope_of(shape_));
  return shape_.is_mlperf ? torch::tanh(x) * 1.2 : x;
}

torch::Tensor Network::forward(const torch::Tensor& volumes, std::uint64_t seed) {
  torch::Tensor x = volumes;
  std::vector<torch::Tensor> means;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    x = convolved(i, x);
    if (shape_.reads_means) means.push_back(means_of(x));
  }
  x = shape_.reads_means ? torch::cat(means, 1) : flat(x);
  for (std::size_t i = 0; i < dense_weights_.size(); ++i) x = dense(i, x, seed);
  return x;
}

torch::Tensor Network::forward_step(int step, const torch::Tensor& input, std::uint64_t seed) {
  const auto i = static_cast<std::size_t>(step);
  if (i >= layers_.size()) return dense(i - layers_.size(), input, seed);
  const bool is_last = i + 1 == layers_.size();
  if (!shape_.reads_means) {
    const torch::Tensor x = convolved(i, input);
    return is_last ? flat(x) : x;
  }
  torch::Tensor x = input;
  std::vector<torch::Tensor> parts;
  if (i > 0) {
    const std::int64_t side = layers_[i - 1].pooled, channels = layers_[i].in,
                       values = side * side * side * channels, before = input.size(1) - values;
    parts.push_back(input.narrow(1, 0, before));
    x = input.narrow(1, before, values)
            .reshape({-1, side, side, side, channels})
            .permute({0, 4, 1, 2, 3});
  }
  x = convolved(i, x);
  parts.push_back(means_of(x));
  if (!is_last) parts.push_back(x.to(torch::kFloat32).permute({0, 2, 3, 4, 1}).flatten(1));
  return torch::cat(parts, 1);
}

double Network::step_flops(int step) const {
  const auto i = static_cast<std::size_t>(step);
  if (i < layers_.size()) return layer_flops(layers_[i]);
  return 2.0 * double(dense_weights_[i - layers_.size()].numel());
}

std::size_t Network::step_buffers(int step) const {
  return shape_.has_norm && static_cast<std::size_t>(step) == layers_.size() ? 2 : 0;
}

void Network::export_script(std::ostream& out, Input input, const std::vector<double>& centres,
                            const std::vector<double>& scales) const {
  torch::jit::Module script("cosmoflow");
  for (const auto& item : named_parameters())
    script.register_parameter(item.key(), item.value().detach().clone().contiguous(), false);
  for (const auto& item : named_buffers()) script.register_buffer(item.key(), item.value().clone());
  std::string code = "def forward(self, x):\n";
  if (input == Input::kLog) code += "  x = torch.log1p(x)\n";
  if (input == Input::kContrast) code += "  x = x - 1\n";
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& l = layers_[i];
    code += fmt::format(
        "  x = torch.leaky_relu(torch.conv3d(x, self.conv{0}_weight, self.conv{0}_bias, [{1}, {1}, "
        "{1}], [{2}, {2}, {2}]), {3})\n",
        i + 1, l.stride, l.padding, slope_of(shape_));
    if (l.has_pool)
      code +=
          fmt::format("  x = torch.{}_pool3d(x, [2, 2, 2])\n", shape_.is_mlperf ? "max" : "avg");
    if (shape_.reads_means) code += fmt::format("  mean{} = torch.mean(x, [2, 3, 4])\n", i);
  }
  std::string means;
  for (std::size_t i = 0; i < layers_.size(); ++i) means += fmt::format("mean{}, ", i);
  code += shape_.reads_means ? fmt::format("  x = torch.cat([{}], 1)\n", means)
                             : "  x = torch.flatten(x, 1)\n";
  if (shape_.has_norm)
    code += fmt::format("  x = (x - self.norm_mean) / torch.sqrt(self.norm_variance + {})\n",
                        kNormEpsilon);
  for (std::size_t i = 1; i <= dense_weights_.size(); ++i) {
    code += fmt::format("  x = torch.addmm(self.dense{0}_bias, x, self.dense{0}_weight.t())\n", i);
    if (i < dense_weights_.size())
      code += fmt::format("  x = torch.leaky_relu(x, {})\n", slope_of(shape_));
  }
  if (shape_.is_mlperf) code += "  x = torch.tanh(x) * 1.2\n";
  code += fmt::format("  return torch.tensor([{}]) + torch.tensor([{}]) * x\n",
                      fmt::join(centres, ", "), fmt::join(scales, ", "));
  script.define(code);
  script.save(out);
}

}  // namespace tutti::models::cosmoflow
