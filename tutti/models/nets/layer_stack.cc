#include "tutti/models/nets/layer_stack.h"

#include <torch/torch.h>

#include <cmath>

#include "tutti/models/ops/conv.h"

namespace tutti::models {
namespace {

constexpr double kNormMomentum = 0.1, kNormEpsilon = 1e-5;

torch::Tensor he_normal(const Layer& layer, torch::Generator generator) {
  const std::int64_t first = layer.is_transposed ? layer.in : layer.out,
                     second = layer.is_transposed ? layer.out : layer.in;
  // Of a transposed convolution only every stride-th place of the kernel meets an output.
  const double places =
      double(layer.kernel * layer.kernel) / (layer.is_transposed ? layer.stride * layer.stride : 1);
  return torch::randn({first, second, layer.kernel, layer.kernel}, generator) *
         std::sqrt(2.0 / (layer.in * places));
}

}  // namespace

LayerStack::LayerStack(std::vector<Layer> layers, std::uint64_t seed, torch::ScalarType dtype)
    : layers_(std::move(layers)), dtype_(dtype) {
  torch::Generator generator = at::detail::createCPUGenerator(seed);
  for (const Layer& layer : layers_) {
    Parts parts{layer, {}, {}, {}, {}, {}, {}};
    if (layer.kernel > 0) {
      parts.weight = register_parameter(layer.name + "_weight", he_normal(layer, generator));
      if (layer.has_bias)
        parts.bias = register_parameter(layer.name + "_bias", torch::zeros({layer.out}));
    }
    if (layer.has_norm || layer.kernel == 0) {
      const double scale = layer.starts_silent ? 0 : 1;
      parts.scale = register_parameter(layer.name + "_scale", torch::full({layer.out}, scale));
      parts.shift = register_parameter(layer.name + "_shift", torch::zeros({layer.out}));
      parts.mean = register_buffer(layer.name + "_mean", torch::zeros({layer.out}));
      parts.variance = register_buffer(layer.name + "_variance", torch::ones({layer.out}));
    }
    parts_.emplace(layer.name, parts);
  }
}

torch::Tensor LayerStack::convolved(const Parts& parts, const torch::Tensor& input) const {
  const Layer& layer = parts.layer;
  if (layer.kernel == 0) return input;
  if (layer.stride == 1 && layer.dilation == 1 && !layer.is_transposed)
    return conv_same(input, parts.weight, layer.has_bias ? parts.bias : torch::zeros({layer.out}),
                     dtype_);
  const std::int64_t around = layer.kernel / 2 * layer.dilation;
  // libtorch 1.13 has no transposed convolution in bf16.
  const bool is_too_small = layer.is_transposed && dtype_ == torch::kBFloat16;
  const torch::ScalarType dtype = is_too_small ? torch::kFloat32 : dtype_;
  const torch::Tensor x = input.to(dtype), weight = parts.weight.to(dtype);
  const torch::Tensor bias = layer.has_bias ? parts.bias.to(dtype) : torch::Tensor();
  if (layer.is_transposed)
    return torch::conv_transpose2d(x, weight, bias, layer.stride, around, layer.stride - 1)
        .to(dtype_);
  return torch::conv2d(x, weight, bias, layer.stride, around, layer.dilation);
}

torch::Tensor LayerStack::apply(const std::string& name, const torch::Tensor& input) {
  const Parts& parts = parts_.at(name);
  const torch::Tensor out = convolved(parts, input);
  if (!parts.scale.defined()) return out;
  return torch::batch_norm(out, parts.scale, parts.shift, parts.mean, parts.variance, is_training(),
                           kNormMomentum, kNormEpsilon, false);
}

torch::Tensor at_least_f32(const torch::Tensor& tensor) {
  return tensor.scalar_type() == torch::kBFloat16 ? tensor.to(torch::kFloat32) : tensor;
}

void average_buffers(torch::nn::Module& module, comm::Communicator& communicator) {
  const torch::NoGradGuard no_gradients;
  for (torch::Tensor& buffer : module.buffers()) {
    torch::Tensor values = buffer.to(torch::kFloat32).contiguous();
    communicator.all_reduce(
        Buffer::of(std::span(values.data_ptr<float>(), static_cast<std::size_t>(values.numel()))),
        ReduceOp::kAverage, {.name = "buffers"});
    buffer.copy_(values);
  }
}

}  // namespace tutti::models
