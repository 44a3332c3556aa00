#include "tutti/models/ops/float_conv.h"

#include <torch/torch.h>

#include "tutti/models/ops/images.h"
#include "tutti/models/ops/winograd.h"

namespace tutti::models {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

FloatSlice slice_of(const Tensor& image) {
  return {image.data_ptr<float>(), image.size(1), image.stride(3), image.stride(2),
          image.stride(0)};
}

std::vector<FloatSlice> slices_of(at::TensorList images) {
  std::vector<FloatSlice> slices;
  for (const Tensor& image : images) slices.push_back(slice_of(image));
  return slices;
}

PictureShape shape_of(const Tensor& image) {
  return {image.size(0), image.size(2), image.size(3)};
}

struct WinogradConv : Function<WinogradConv> {
  static Tensor forward(AutogradContext* context, const Tensor& weight, const Tensor& bias,
                        at::TensorList inputs, bool has_relu) {
    const Tensor places = weight.permute({2, 3, 1, 0}).contiguous(), biases = bias.contiguous();
    const PictureShape shape = shape_of(inputs[0]);
    const Tensor output =
        empty_image({shape.pictures, weight.size(0), shape.height, shape.width}, torch::kFloat32);
    const std::vector<FloatSlice> slices = slices_of(inputs);
    const FloatSlice to = slice_of(output);
    winograd_conv({shape, slices}, places.data_ptr<float>(), biases.data_ptr<float>(), has_relu,
                  {&to, 1});
    variable_list saved(inputs.begin(), inputs.end());
    saved.push_back(weight);
    if (has_relu) saved.push_back(output);
    context->save_for_backward(saved);
    context->saved_data["inputs"] = std::int64_t(inputs.size());
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto count = static_cast<std::size_t>(context->saved_data["inputs"].toInt());
    const at::TensorList inputs(saved.data(), count);
    const Tensor& weight = saved[count];
    const Tensor gradient = readable(gradients[0], torch::kFloat32);
    const FloatSlice slice = slice_of(gradient);
    WinogradInput rows{shape_of(gradient), {&slice, 1}};
    if (saved.size() > count + 1) rows.sign = slice_of(saved[count + 1]);
    variable_list result(2);
    if (context->needs_input_grad(0) || context->needs_input_grad(1))
      result = weight_gradients(inputs, rows);
    std::vector<FloatSlice> slices;
    bool is_needed = false;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_wanted = context->needs_input_grad(2 + i);
      is_needed |= is_wanted;
      result.push_back(is_wanted ? empty_image(inputs[i].sizes(), torch::kFloat32) : Tensor());
      slices.push_back(is_wanted ? slice_of(result.back())
                                 : FloatSlice{nullptr, inputs[i].size(1)});
    }
    if (is_needed) {
      const Tensor turned = weight.flip({2, 3}).permute({2, 3, 0, 1}).contiguous();
      winograd_conv(rows, turned.data_ptr<float>(), nullptr, false, slices);
    }
    result.resize(count + 3);
    return result;
  }

 private:
  static variable_list weight_gradients(at::TensorList inputs, const WinogradInput& gradient) {
    const std::vector<FloatSlice> slices = slices_of(inputs);
    const WinogradInput input{gradient.shape, slices};
    const Tensor places = torch::empty({3, 3, input.channels(), gradient.channels()}),
                 bias = torch::empty({gradient.channels()});
    winograd_weight_gradient(input, gradient, places.data_ptr<float>(), bias.data_ptr<float>());
    return {places.permute({3, 2, 0, 1}), bias};
  }
};

}  // namespace

Tensor float_conv(at::TensorList inputs, const Tensor& weight, const Tensor& bias, bool has_relu) {
  const std::vector<Tensor> images = readables(inputs, torch::kFloat32);
  return WinogradConv::apply(weight.to(torch::kFloat32), bias.to(torch::kFloat32),
                             at::TensorList(images), has_relu);
}

}  // namespace tutti::models
