#include "tutti/models/science/gan3d/model.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cmath>

#include "tutti/core/random.h"
#include "tutti/kernels/conv3d/volume.h"
#include "tutti/models/science/gan3d/leaky_drop.h"
#include "tutti/models/science/gan3d/shower.h"
#include "tutti/train/batch_norm.h"

namespace tutti::models::gan3d {
namespace {

std::int64_t product(const Size3& size) {
  return size[0] * size[1] * size[2];
}

void set_size(Layer& layer, const Size3& input) {
  for (std::size_t a = 0; a < 3; ++a)
    layer.size[a] =
        (input[a] * layer.factor[a] + layer.before[a] + layer.after[a] - layer.kernel[a]) /
            layer.stride +
        1;
}

std::int64_t parameters(const Layer& layer) {
  return layer.out *
         (layer.in * product(layer.kernel) + (layer.has_bias ? 1 : 0) + (layer.has_norm ? 2 : 0));
}

double flops(const Layer& layer) {
  return 2.0 * layer.in * layer.out * double(product(layer.kernel) * product(layer.size));
}

double dense_flops(const NetworkShape& shape) {
  return 2.0 * shape.generator_inputs() * kSeedChannels * double(product(kSeedSize));
}

// Number of inputs of the discriminator's output layers: means of cubes of 2 x 2 x 2.
std::int64_t head_inputs(const NetworkShape& shape) {
  const Layer last = discriminator_layers(shape).back();
  return last.out * (last.size[0] / 2) * (last.size[1] / 2) * (last.size[2] / 2);
}

double he_limit(const Layer& layer) {
  return std::sqrt(6.0 / double(layer.in * product(layer.kernel)));
}
double glorot_limit(const Layer& layer) {
  return std::sqrt(6.0 / double((layer.in + layer.out) * product(layer.kernel)));
}
// In the paper the last layer of the generator has Glorot-normal weights; this limit has the same variance.
double generator_limit(const Layer& layer) {
  return layer.has_bias ? he_limit(layer) : glorot_limit(layer);
}
// A generator of multiples of the mean shower starts with less noise.
double relative_limit(const Layer& layer) {
  return layer.has_bias ? he_limit(layer) : 0.1 * glorot_limit(layer);
}

torch::Tensor even(torch::IntArrayRef sizes, double limit, const torch::Generator& random) {
  return (torch::rand(sizes, random) * 2 - 1) * limit;
}

}  // namespace

std::vector<Layer> generator_layers(const NetworkShape& shape) {
  const int f = shape.generator_filters;
  std::vector<Layer> layers = {
      {.in = kSeedChannels, .out = f, .kernel = {6, 6, 8}, .before = {2, 2, 3}, .after = {3, 3, 4}},
      {.in = f, .out = 6, .kernel = {6, 5, 8}, .factor = {2, 2, 2}, .before = {2, 2, 0}},
      {.in = 6, .out = 6, .kernel = {3, 3, 8}, .factor = {2, 2, 3}, .before = {1, 0, 3}},
      {.in = 6, .out = 1, .kernel = {2, 2, 2}, .has_bias = false, .slope = 0}};
  layers[0].has_norm = layers[1].has_norm = true;
  layers[1].after = layers[1].before;
  layers[2].after = layers[2].before;
  Size3 size = kSeedSize;
  for (Layer& layer : layers) {
    set_size(layer, size);
    size = layer.size;
  }
  return layers;
}

std::vector<Layer> discriminator_layers(const NetworkShape& shape) {
  const std::int64_t k = shape.kernel, around = k / 2;
  std::vector<Layer> layers;
  Size3 size = {kSide, kSide, kSide};
  int in = 1;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t zeros = i == 3 ? around - 1 : around;
    Layer layer{.in = in, .out = i == 0 ? shape.filters : 8, .kernel = {k, k, k}};
    layer.before = layer.after = {zeros, zeros, zeros};
    layer.has_norm = i > 0;
    layer.stride = i > 0 ? 1 : shape.stride;
    set_size(layer, size);
    size = layer.size;
    in = layer.out;
    layers.push_back(layer);
  }
  return layers;
}

std::int64_t generator_parameters(const NetworkShape& shape) {
  std::int64_t count = (shape.generator_inputs() + 1) * kSeedChannels * product(kSeedSize);
  for (const Layer& layer : generator_layers(shape)) count += parameters(layer);
  return count;
}

std::int64_t discriminator_parameters(const NetworkShape& shape) {
  std::int64_t count = 2 * (head_inputs(shape) + 1);
  for (const Layer& layer : discriminator_layers(shape)) count += parameters(layer);
  return count;
}

double output_values(const NetworkShape& shape) {
  double values = 0;
  for (const auto& layers : {generator_layers(shape), discriminator_layers(shape)})
    for (const Layer& layer : layers)
      values += double(layer.out * product(layer.size)) * (layer.has_norm ? 2 : 1);
  return values;
}

double generator_flops(const NetworkShape& shape) {
  double sum = dense_flops(shape);
  for (const Layer& layer : generator_layers(shape)) sum += flops(layer);
  return sum;
}

double discriminator_flops(const NetworkShape& shape) {
  double sum = 4.0 * double(head_inputs(shape));
  for (const Layer& layer : discriminator_layers(shape)) sum += flops(layer);
  return sum;
}

// The discriminator has forward and both gradients, except that of its input, on real and generated showers. The
// generator has the same, plus forward and input gradient of the discriminator.
double step_flops(const NetworkShape& shape, std::int64_t generator_updates) {
  const double generator_cost = generator_flops(shape),
               discriminator_cost = discriminator_flops(shape);
  return 2 * (3 * discriminator_cost - flops(discriminator_layers(shape).front())) +
         generator_cost +
         double(generator_updates) *
             (3 * generator_cost - dense_flops(shape) + 2 * discriminator_cost);
}

void VolumeStack::add_layers(std::vector<Layer> layers, const NetworkShape& shape,
                             const torch::Generator& random, double (*limit)(const Layer&)) {
  layers_ = std::move(layers);
  norm_momentum_ = shape.norm_momentum;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& l = layers_[i];
    auto name = [&](const char* what) { return fmt::format("conv{}_{}", i + 1, what); };
    weights_.push_back(register_parameter(
        name("weight"),
        even({l.out, l.in, l.kernel[0], l.kernel[1], l.kernel[2]}, limit(l), random)));
    biases_.push_back(l.has_bias ? register_parameter(name("bias"), torch::zeros({l.out}))
                                 : torch::Tensor());
    const bool has = l.has_norm;
    scales_.push_back(has ? register_parameter(name("scale"), torch::ones({l.out}))
                          : torch::Tensor());
    shifts_.push_back(has ? register_parameter(name("shift"), torch::zeros({l.out}))
                          : torch::Tensor());
    means_.push_back(has ? register_buffer(name("mean"), torch::zeros({l.out})) : torch::Tensor());
    variances_.push_back(has ? register_buffer(name("variance"), torch::ones({l.out}))
                             : torch::Tensor());
  }
}

torch::Tensor VolumeStack::convolved(std::size_t i, const torch::Tensor& x,
                                     torch::ScalarType dtype) const {
  const Layer& l = layers_[i];
  if (l.factor != Size3{1, 1, 1})
    return upsampled_conv(x, weights_[i], biases_[i], l.factor, l.before);
  if (l.before == l.after && l.has_bias)
    return kernels::conv_volume(x, weights_[i], biases_[i], dtype, l.stride, l.before[0]);
  return torch::conv3d(torch::constant_pad_nd(x, {l.before[2], l.after[2], l.before[1], l.after[1],
                                                  l.before[0], l.after[0]}),
                       weights_[i], biases_[i]);
}

torch::Tensor VolumeStack::normed(std::size_t i, const torch::Tensor& x, Norms norms) const {
  if (!layers_[i].has_norm) return x;
  const bool follows = norms == Norms::kFollow || !is_training();
  return train::batch_norm(x, scales_[i], shifts_[i], follows ? means_[i] : means_[i].clone(),
                           follows ? variances_[i] : variances_[i].clone(), is_training(),
                           norm_momentum_, kNormEpsilon);
}

Generator::Generator(const NetworkShape& shape, const torch::Generator& random)
    : is_relative_(shape.is_relative) {
  const std::int64_t cells = kSeedChannels * product(kSeedSize), inputs = shape.generator_inputs();
  dense_weight_ = register_parameter(
      "dense_weight", even({cells, inputs}, std::sqrt(6.0 / double(cells + inputs)), random));
  dense_bias_ = register_parameter("dense_bias", torch::zeros({cells}));
  if (is_relative_)
    mean_shower_ = register_buffer("mean_shower", torch::full({kSide, kSide, kSide}, 1.0 / kCells));
  add_layers(generator_layers(shape), shape, random,
             is_relative_ ? relative_limit : generator_limit);
}

void Generator::set_mean_shower(const torch::Tensor& shares) {
  mean_shower_.copy_(shares);
}

torch::Tensor Generator::forward(const torch::Tensor& energies, const torch::Tensor& noise,
                                 Norms norms) {
  const torch::Tensor y = energies.unsqueeze(1);
  const torch::Tensor input = is_relative_ ? torch::cat({noise, y, y.log()}, 1) : noise * y;
  torch::Tensor x = torch::addmm(dense_bias_, input, dense_weight_.t())
                        .view({-1, kSeedChannels, kSeedSize[0], kSeedSize[1], kSeedSize[2]});
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    x = convolved(i, x, torch::kFloat32);
    // A relative generator starts near the mean shower.
    if (is_relative_ && i + 1 == layers_.size()) x = x + 1;
    x = layers_[i].slope == 0 ? torch::relu(x) : torch::leaky_relu(x, layers_[i].slope);
    x = normed(i, x, norms);
  }
  x = x.squeeze(1);
  return is_relative_ ? x * mean_shower_ * visible(energies).view({-1, 1, 1, 1}) : x;
}

Discriminator::Discriminator(const NetworkShape& shape, const torch::Generator& random,
                             torch::ScalarType dtype)
    : dropout_(shape.dropout),
      cell_unit_(shape.cell_unit),
      cell_power_(shape.cell_power),
      dtype_(dtype) {
  add_layers(discriminator_layers(shape), shape, random, glorot_limit);
  const std::int64_t inputs = head_inputs(shape);
  heads_weight_ = register_parameter(
      "heads_weight", even({2, inputs}, std::sqrt(6.0 / double(inputs + 1)), random));
  heads_bias_ = register_parameter("heads_bias", torch::zeros({2}));
}

DiscriminatorOutput Discriminator::forward(const torch::Tensor& cells, std::uint64_t seed,
                                           Norms norms) {
  torch::Tensor x = cells.unsqueeze(1);
  if (cell_unit_ != 1) x = x / cell_unit_;
  // The derivative of a root at 0 is infinite; cells that count as empty get no gradient.
  if (cell_power_ != 1) x = x.clamp_min(kThreshold / cell_unit_).pow(cell_power_);
  const double drop = is_training() ? dropout_ : 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    x = convolved(i, x, dtype_);
    const std::uint64_t own = mixed_seed(seed, i);
    if (!layers_[i].has_norm) {
      x = leaky_drop(x, layers_[i].slope, drop, own);
      continue;
    }
    x = normed(i, leaky_drop(x, layers_[i].slope, 0, 0), norms);
    if (drop > 0) x = leaky_drop(x, 1, drop, own);
  }
  x = torch::avg_pool3d(x.to(torch::kFloat32), 2).contiguous().flatten(1);
  const torch::Tensor heads = torch::addmm(heads_bias_, x, heads_weight_.t());
  return {heads.select(1, 0), heads.select(1, 1)};
}

Gan::Gan(const NetworkShape& shape, std::uint64_t seed, torch::ScalarType dtype) {
  const torch::Generator random = at::detail::createCPUGenerator(seed);
  generator = register_module("generator", std::make_shared<Generator>(shape, random));
  discriminator =
      register_module("discriminator", std::make_shared<Discriminator>(shape, random, dtype));
}

}  // namespace tutti::models::gan3d
