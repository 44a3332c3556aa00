#include "tutti/kernels/conv2d/dense.h"

#include <torch/autograd.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/types.h>

#include "tutti/kernels/conv2d/conv.h"
#include "tutti/kernels/conv2d/float_slices.h"
#include "tutti/kernels/conv2d/images.h"
#include "tutti/kernels/operator_scope.h"
#include "tutti/kernels/winograd/winograd.h"

namespace tutti::kernels {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// A dense block is computed by source instead of by layer. Source 0 is the input of the block; source s is the
// output of layer s - 1. All layers s and later read source s, so their contributions from it are computed
// together: the source is read and transformed once. Backward, the gradient of a source is computed once from the
// gradients of all layers that read it.
class Sources {
 public:
  Sources(at::TensorList inputs, at::TensorList weights, const Tensor& added)
      : inputs_(inputs), weights_(weights), added_(added) {}

  std::int64_t count() const { return std::int64_t(weights_.size()); }
  std::int64_t filters() const { return weights_[0].size(0); }
  std::int64_t channels(std::int64_t s) const { return s == 0 ? weights_[0].size(1) : filters(); }
  // First channel of source s in the input of a layer.
  std::int64_t first(std::int64_t s) const {
    return s == 0 ? 0 : channels(0) + (s - 1) * filters();
  }
  ConcatImages images(std::int64_t s, std::vector<FloatSlice>& slices) const {
    slices = s == 0 ? slices_of(inputs_)
                    : std::vector<FloatSlice>{float_slice_of(of_layer(added_, s - 1))};
    return {image_shape_of(added_), slices};
  }
  // Weights of all layers that read the source: (their filters, channels of the source, 3, 3).
  Tensor weights(std::int64_t s) const {
    std::vector<Tensor> parts;
    for (std::int64_t layer = s; layer < count(); ++layer)
      parts.push_back(weights_[layer].narrow(1, first(s), channels(s)));
    return torch::cat(parts);
  }
  // The channels of `all`, in the layout of the block's output, that belong to one layer.
  Tensor of_layer(const Tensor& all, std::int64_t layer) const {
    return all.narrow(1, layer * filters(), filters());
  }
  Tensor from_layer(const Tensor& all, std::int64_t layer) const {
    return all.narrow(1, layer * filters(), (count() - layer) * filters());
  }

 private:
  at::TensorList inputs_, weights_;
  const Tensor& added_;
};

// Each source adds its contribution to all layers that read it. The last source of a layer completes the layer.
void dense_forward(const Sources& sources, const Tensor& biases, const Tensor& added) {
  std::vector<FloatSlice> slices;
  for (std::int64_t s = 0; s < sources.count(); ++s) {
    const Tensor taps = sources.weights(s).permute({2, 3, 1, 0}).contiguous();
    std::vector<ResultSlice> results;
    for (std::int64_t layer = s; layer < sources.count(); ++layer) {
      const FloatSlice to = float_slice_of(sources.of_layer(added, layer));
      results.push_back(
          {.to = to, .add = s > 0 ? to : FloatSlice{}, .sign = {}, .has_relu = layer == s});
    }
    winograd_conv(sources.images(s, slices), taps.data_ptr<float>(),
                  s == 0 ? biases.data_ptr<float>() : nullptr, results);
  }
}

// Computes the gradient of source s from the gradients of the layers that read it, into `results`.
void source_gradient(const Sources& sources, std::int64_t s, const Tensor& gradient,
                     std::span<const ResultSlice> results) {
  const Tensor flipped = sources.weights(s).flip({2, 3}).permute({2, 3, 0, 1}).contiguous();
  const FloatSlice from = float_slice_of(sources.from_layer(gradient, s));
  winograd_conv({image_shape_of(gradient), {&from, 1}}, flipped.data_ptr<float>(), nullptr,
                results);
}

Tensor even_pixels(const Tensor& image) {
  return image.slice(2, 0, c10::nullopt, 2).slice(3, 0, c10::nullopt, 2);
}

Tensor join_even_pixels(at::TensorList features) {
  std::int64_t channels = 0;
  for (const Tensor& feature : features) channels += feature.size(1);
  const Tensor like = even_pixels(features[0]);
  const Tensor even =
      empty_image({like.size(0), channels, like.size(2), like.size(3)}, torch::kFloat32);
  std::int64_t first = 0;
  for (const Tensor& feature : features) {
    even.narrow(1, first, feature.size(1)).copy_(even_pixels(feature));
    first += feature.size(1);
  }
  return even;
}

// Computes the gradient of the block's output. Starts with the gradients from the layers after the block, for all
// pixels and for even pixels (each if defined), adds those from the layers of the block and applies the ReLU mask.
Tensor whole_gradient(const Sources& sources, const Tensor& outside, const Tensor& outside_even,
                      const Tensor& added) {
  Tensor gradient = empty_image(added.sizes(), torch::kFloat32);
  if (outside.defined())
    torch::threshold_backward_out(gradient, readable(outside, torch::kFloat32), added, 0);
  else
    gradient.zero_();
  if (outside_even.defined())
    even_pixels(gradient).add_(torch::threshold_backward(outside_even, even_pixels(added), 0));
  for (std::int64_t s = sources.count() - 1; s > 0; --s) {
    const FloatSlice to = float_slice_of(sources.of_layer(gradient, s - 1));
    const ResultSlice result{
        .to = to, .add = to, .sign = float_slice_of(sources.of_layer(added, s - 1))};
    source_gradient(sources, s, gradient, {&result, 1});
  }
  return gradient;
}

// Gradients of the weights, then of the biases.
variable_list parameter_gradients(const Sources& sources, const Tensor& gradient) {
  variable_list result(2 * sources.count());
  std::vector<FloatSlice> slices;
  for (std::int64_t layer = 0; layer < sources.count(); ++layer)
    result[layer] =
        torch::empty({sources.filters(), sources.first(layer) + sources.channels(layer), 3, 3});
  for (std::int64_t s = 0; s < sources.count(); ++s) {
    const Tensor seen = sources.from_layer(gradient, s);
    const FloatSlice from = float_slice_of(seen);
    const Tensor taps = torch::empty({3, 3, sources.channels(s), seen.size(1)}),
                 biases = torch::empty({seen.size(1)});
    winograd_weight_gradient(sources.images(s, slices), {image_shape_of(seen), {&from, 1}},
                             taps.data_ptr<float>(), biases.data_ptr<float>());
    const Tensor weights = taps.permute({3, 2, 0, 1});
    for (std::int64_t layer = s; layer < sources.count(); ++layer)
      result[layer]
          .narrow(1, sources.first(s), sources.channels(s))
          .copy_(weights.narrow(0, (layer - s) * sources.filters(), sources.filters()));
    result[sources.count() + s] = biases.narrow(0, 0, sources.filters());
  }
  return result;
}

// Gradients of the inputs. `after` holds the gradients from the layers after the block: one per input and, last, one
// for the even pixels of all features; each if defined.
variable_list input_gradients(const Sources& sources, const Tensor& gradient, at::TensorList inputs,
                              at::TensorList after) {
  variable_list result, outside;
  std::vector<ResultSlice> slices;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_seen = after[i].defined();
    outside.push_back(is_seen ? readable(after[i], torch::kFloat32) : Tensor());
    result.push_back(empty_image(inputs[i].sizes(), torch::kFloat32));
    slices.push_back({.to = float_slice_of(result.back()),
                      .add = is_seen ? float_slice_of(outside.back()) : FloatSlice{}});
  }
  source_gradient(sources, 0, gradient, slices);
  const Tensor& even = after.back();
  std::int64_t first = 0;
  for (std::size_t i = 0; i < inputs.size() && even.defined(); first += inputs[i++].size(1))
    even_pixels(result[i]).add_(even.narrow(1, first, inputs[i].size(1)));
  return result;
}

// Returns the block's output, the inputs, and the even pixels of all features if requested.
struct DenseConv : Function<DenseConv> {
  static variable_list forward(AutogradContext* context, at::TensorList weights,
                               at::TensorList biases, at::TensorList inputs, bool wants_even) {
    variable_list saved(weights.begin(), weights.end()), features(inputs.begin(), inputs.end());
    saved.insert(saved.end(), features.begin(), features.end());
    const OperatorScope scope("tutti::dense_conv", saved);
    const std::int64_t filters = weights[0].size(0) * std::int64_t(weights.size());
    const Tensor added = empty_image(
        {inputs[0].size(0), filters, inputs[0].size(2), inputs[0].size(3)}, torch::kFloat32);
    dense_forward({inputs, weights, added}, torch::cat(biases), added);
    saved.push_back(added);
    features.push_back(added);
    context->save_for_backward(saved);
    context->set_materialize_grads(false);
    context->saved_data["layers"] = std::int64_t(weights.size());
    variable_list results = {added};
    results.insert(results.end(), inputs.begin(), inputs.end());
    if (wants_even) results.push_back(join_even_pixels(features));
    return results;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const OperatorScope scope("tutti::dense_conv_backward", saved);
    const auto layers = static_cast<std::size_t>(context->saved_data["layers"].toInt());
    const at::TensorList weights(saved.data(), layers),
        inputs(saved.data() + layers, saved.size() - layers - 1);
    const Tensor& added = saved.back();
    gradients.resize(inputs.size() + 2);
    const Tensor& even = gradients.back();
    const Sources sources(inputs, weights, added);
    const Tensor gradient = whole_gradient(
        sources, gradients[0],
        even.defined() ? even.narrow(1, sources.channels(0), added.size(1)) : Tensor(), added);
    variable_list result = parameter_gradients(sources, gradient);
    const variable_list of_inputs =
        input_gradients(sources, gradient, inputs, at::TensorList(gradients).slice(1));
    result.insert(result.end(), of_inputs.begin(), of_inputs.end());
    result.emplace_back();
    return result;
  }
};

bool goes_by_winograd(at::TensorList weights, torch::ScalarType dtype) {
  if (dtype != torch::kFloat32 || torch::jit::tracer::isTracing()) return false;
  for (const Tensor& weight : weights)
    if (weight.size(2) != 3 || weight.size(0) != weights[0].size(0)) return false;
  return std::min(weights[0].size(0), weights[0].size(1)) >= kFewChannels;
}

}  // namespace

DenseFeatures dense_conv(at::TensorList inputs, at::TensorList weights, at::TensorList biases,
                         torch::ScalarType dtype, bool wants_even) {
  if (!goes_by_winograd(weights, dtype)) {
    std::vector<Tensor> seen(inputs.begin(), inputs.end()), added;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      added.push_back(conv_same(seen, weights[i], biases[i], dtype, {.has_relu = true}));
      seen.push_back(added.back());
    }
    return {{inputs.begin(), inputs.end()}, added, {}};
  }
  const std::vector<Tensor> images = readables(inputs, torch::kFloat32);
  const variable_list outputs =
      DenseConv::apply(weights, biases, at::TensorList(images), wants_even);
  const auto first = outputs.begin() + 1, end = first + std::ssize(images);
  return {{first, end}, {outputs[0]}, wants_even ? outputs.back() : Tensor()};
}

}  // namespace tutti::kernels
