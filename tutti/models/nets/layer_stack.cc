#include "tutti/models/nets/layer_stack.h"

#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "tutti/kernels/conv2d/conv.h"
#include "tutti/kernels/conv2d/upsample2x_conv.h"
#include "tutti/kernels/winograd/winograd.h"
#include "tutti/train/batch_norm.h"

namespace tutti::models {
namespace {

constexpr double kNormMomentum = 0.1, kNormEpsilon = 1e-5, kLeakySlope = 0.1;

torch::Tensor he_normal(const Layer& layer, torch::Generator generator) {
  const std::int64_t first = layer.is_transposed ? layer.in : layer.out,
                     second = layer.is_transposed ? layer.out : layer.in;
  // In a transposed convolution only every stride-th tap of the kernel contributes to an output.
  const double taps =
      double(layer.kernel * layer.kernel) / (layer.is_transposed ? layer.stride * layer.stride : 1);
  return torch::randn({first, second, layer.kernel, layer.kernel}, generator) *
         std::sqrt(2.0 / (layer.in * taps));
}

// Transposed convolution of stride 2, which is slow in libtorch 1.13 in f32 and missing in bf16, as a convolution that
// keeps the size: each pixel computes the four pixels of a 2x2 square in four times as many channels. Output 2i + a
// takes input i + d times tap a + 2 - 2d of a kernel of 5. With one more row of zeros the kernel has three pairs of
// taps: pairs belong to d, in reverse, and a selects from a pair.
torch::Tensor doubled(at::TensorList inputs, const torch::Tensor& weight, const torch::Tensor& bias,
                      torch::ScalarType dtype, bool has_relu) {
  const std::int64_t in = weight.size(0), out = weight.size(1), frame = (5 - weight.size(2)) / 2;
  const torch::Tensor squares = torch::constant_pad_nd(weight, {frame, frame + 1, frame, frame + 1})
                                    .view({in, out, 3, 2, 3, 2})
                                    .flip({2, 4})
                                    .permute({3, 5, 1, 0, 2, 4})
                                    .reshape({4 * out, in, 3, 3});
  const bool is_recorded = torch::jit::tracer::isTracing();
  if (dtype == torch::kFloat32 && !has_relu && !is_recorded &&
      std::min(4 * out, in) >= kernels::kFewChannels)
    return kernels::upsample2x_conv(inputs, squares, bias.repeat({4}));
  const torch::Tensor upsampled =
      kernels::conv_same(inputs, squares, bias.repeat({4}), dtype, {1, 1, has_relu});
  const std::int64_t height = upsampled.size(2), width = upsampled.size(3);
  // Unlike pixel_shuffle, this moves whole pixels, and channels stay contiguous.
  return upsampled.permute({0, 2, 3, 1})
      .reshape({-1, height, width, 2, 2, out})
      .transpose(2, 3)
      .reshape({-1, 2 * height, 2 * width, out})
      .permute({0, 3, 1, 2});
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
      const double scale = layer.zero_init_gamma ? 0 : 1;
      parts.scale = register_parameter(layer.name + "_scale", torch::full({layer.out}, scale));
      parts.shift = register_parameter(layer.name + "_shift", torch::zeros({layer.out}));
      parts.mean = register_buffer(layer.name + "_mean", torch::zeros({layer.out}));
      parts.variance = register_buffer(layer.name + "_variance", torch::ones({layer.out}));
    }
    parts_.emplace(layer.name, parts);
  }
}

torch::Tensor LayerStack::convolved(const Parts& parts, at::TensorList inputs,
                                    bool has_relu) const {
  const Layer& layer = parts.layer;
  if (layer.kernel == 0) return inputs[0];
  const torch::Tensor bias = layer.has_bias ? parts.bias : torch::zeros({layer.out});
  if (layer.is_transposed) return doubled(inputs, parts.weight, bias, dtype_, has_relu);
  return kernels::conv_same(inputs, parts.weight, bias, dtype_,
                            {layer.stride, layer.dilation, has_relu});
}

torch::Tensor LayerStack::apply(const std::string& name, at::TensorList inputs, bool has_relu) {
  const Parts& parts = parts_.at(name);
  const bool has_norm = parts.scale.defined();
  const torch::Tensor out = convolved(parts, inputs, has_relu && !has_norm);
  if (!has_norm) return out;
  const torch::Tensor normal =
      train::batch_norm(out, parts.scale, parts.shift, parts.mean, parts.variance, is_training(),
                        kNormMomentum, kNormEpsilon);
  return has_relu ? torch::relu(normal) : normal;
}

kernels::DenseFeatures LayerStack::apply_dense(std::span<const std::string> names,
                                               at::TensorList inputs, bool wants_even) const {
  std::vector<torch::Tensor> weights, biases;
  for (const std::string& name : names) {
    weights.push_back(parts_.at(name).weight);
    biases.push_back(parts_.at(name).bias);
  }
  return kernels::dense_conv(inputs, weights, biases, dtype_, wants_even);
}

torch::Tensor LayerStack::apply_halving(const std::string& name,
                                        const kernels::DenseFeatures& block, bool has_relu) {
  if (block.even.defined()) {
    const Parts& parts = parts_.at(name);
    return kernels::conv_same(block.even, parts.weight, parts.bias, dtype_, {.has_relu = has_relu});
  }
  std::vector<torch::Tensor> features = block.inputs;
  features.insert(features.end(), block.added.begin(), block.added.end());
  return apply(name, features, has_relu);
}

torch::Tensor LayerStack::output_of(const Graph::Node& node, at::TensorList inputs) {
  using Kind = Graph::Node::Kind;
  const bool has_relu = node.activation == Activation::kRelu;
  torch::Tensor out;
  switch (node.kind) {
    case Kind::kInput: return inputs[0];
    case Kind::kLayer: out = apply(layers_[node.layer].name, inputs, has_relu); break;
    case Kind::kAdd: out = inputs[0] + inputs[1]; break;
    case Kind::kMaxPool:
      return torch::max_pool2d(inputs[0], node.kernel, node.stride, node.kernel / 2);
    case Kind::kMean: return at_least_f32(inputs[0]).mean({2, 3}, true);
    case Kind::kExpand: return inputs[0].expand({-1, -1, inputs[1].size(2), inputs[1].size(3)});
  }
  if (node.activation == Activation::kLeaky) return torch::leaky_relu(out, kLeakySlope);
  return has_relu && node.kind == Kind::kAdd ? torch::relu(out) : out;
}

std::vector<torch::Tensor> LayerStack::run(const Graph& graph, const torch::Tensor& input,
                                           std::span<const Graph::Id> wanted, Graph::Id from) {
  const std::vector<Graph::Node>& nodes = graph.nodes();
  std::vector<int> uses(nodes.size());
  for (const Graph::Id id : wanted) ++uses[id];
  for (Graph::Id id = graph.last(); id > from; --id)
    if (uses[id] > 0)
      for (const Graph::Id each : nodes[id].inputs) ++uses[each];
  std::vector<torch::Tensor> outputs(nodes.size());
  outputs[from] = input;
  for (Graph::Id id = from + 1; id < nodes.size(); ++id) {
    if (uses[id] == 0) continue;
    std::vector<torch::Tensor> inputs;
    for (const Graph::Id each : nodes[id].inputs) {
      inputs.push_back(outputs[each]);
      if (--uses[each] == 0) outputs[each] = torch::Tensor();  // without autograd, memory is free
    }
    outputs[id] = output_of(nodes[id], inputs);
  }
  std::vector<torch::Tensor> found;
  for (const Graph::Id id : wanted) found.push_back(outputs[id]);
  return found;
}

torch::Tensor LayerStack::run(const Graph& graph, const torch::Tensor& input) {
  const Graph::Id last = graph.last();
  return run(graph, input, {&last, 1})[0];
}

std::vector<train::Layer> LayerStack::parts(const Graph& graph) {
  std::vector<train::Layer> all;
  std::vector<Graph::Id> ends = graph.cuts();
  ends.push_back(graph.last());
  Graph::Id from = Graph::kInput;
  for (const Graph::Id to : ends) {
    train::Layer part{0, 0, 0, [this, &graph, from, to](const torch::Tensor& x, std::uint64_t) {
                        return run(graph, x, {&to, 1}, from)[0];
                      }};
    for (Graph::Id id = from + 1; id <= to; ++id) {
      if (graph.nodes()[id].kind != Graph::Node::Kind::kLayer) continue;
      const Parts& parts = parts_.at(layers_[graph.nodes()[id].layer].name);
      part.flops += forward_flops({&parts.layer, 1});
      for (const torch::Tensor& tensor : {parts.weight, parts.bias, parts.scale, parts.shift})
        if (tensor.defined()) ++part.tensors;
      if (parts.scale.defined()) part.buffers += 2;
    }
    all.push_back(std::move(part));
    from = to;
  }
  return all;
}

void LayerStack::add_input_scale(int channels, float mean, float deviation) {
  mean_ = register_buffer("input_mean", torch::full({1, channels, 1, 1}, mean));
  deviation_ = register_buffer("input_spread", torch::full({1, channels, 1, 1}, deviation));
}

void LayerStack::set_scale(std::span<const float> mean, std::span<const float> deviation) {
  std::copy(mean.begin(), mean.end(), mean_.data_ptr<float>());
  std::copy(deviation.begin(), deviation.end(), deviation_.data_ptr<float>());
}

torch::Tensor at_least_f32(const torch::Tensor& tensor) {
  return tensor.scalar_type() == torch::kBFloat16 ? tensor.to(torch::kFloat32) : tensor;
}

// Integers and booleans are counters or masks, so they are not averaged.
void average_buffers(torch::nn::Module& module, comm::Communicator& communicator) {
  const torch::NoGradGuard no_gradients;
  for (torch::Tensor& buffer : module.buffers()) {
    if (buffer.numel() == 0) continue;
    if (!buffer.is_floating_point()) {
      torch::Tensor values = buffer.contiguous();
      communicator.broadcast(
          {values.data_ptr(), static_cast<std::int64_t>(values.nbytes()), DType::kU8}, 0,
          {.name = "buffers"});
      buffer.copy_(values);
      continue;
    }
    const bool is_double = buffer.scalar_type() == torch::kFloat64;
    torch::Tensor values = buffer.to(is_double ? torch::kFloat64 : torch::kFloat32).contiguous();
    communicator.all_reduce(
        {values.data_ptr(), values.numel(), is_double ? DType::kF64 : DType::kF32},
        ReduceOp::kAverage, {.name = "buffers"});
    buffer.copy_(values);
  }
}

}  // namespace tutti::models
