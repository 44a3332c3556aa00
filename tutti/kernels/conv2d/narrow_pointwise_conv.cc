#include "tutti/kernels/conv2d/narrow_pointwise_conv.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include "tutti/kernels/amx/concat_rows.h"
#include "tutti/kernels/conv2d/images.h"
#include "tutti/kernels/operator_scope.h"
#include "tutti/kernels/winograd/panel_products.h"

namespace tutti::kernels {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Pixels multiplied together; their channels stay in the L1 or L2 cache.
constexpr std::int64_t kBlock = 48;
// Number of partial sums; independent of the number of threads.
constexpr std::int64_t kParts = 8;

// An image as a matrix with one row per pixel.
struct PixelRows {
  explicit PixelRows(const Tensor& image)
      : rows(image.permute({0, 2, 3, 1}).reshape({-1, image.size(1)})),
        first(rows.data_ptr<float>()),
        stride(rows.stride(0)),
        channels(rows.size(1)) {}
  Tensor rows;  // a copy only if the row stride is not constant
  float* first;
  std::int64_t stride, channels;
};

std::vector<PixelRows> rows_of_all(at::TensorList images) {
  std::vector<PixelRows> all;
  for (const Tensor& image : images) all.emplace_back(image);
  return all;
}

// Copies pixels [begin, end) of all inputs, with their channels concatenated.
void concat_rows(const std::vector<PixelRows>& inputs, std::int64_t begin, std::int64_t end,
                 float* rows, std::int64_t row) {
  for (const PixelRows& input : inputs) {
    for (std::int64_t i = begin; i < end; ++i)
      std::copy_n(input.first + i * input.stride, input.channels, rows + (i - begin) * row);
    rows += input.channels;
  }
}
void split_rows(const float* rows, std::int64_t row, std::int64_t begin, std::int64_t end,
                const std::vector<PixelRows>& results) {
  for (const PixelRows& result : results) {
    for (std::int64_t i = begin; i < end; ++i)
      std::copy_n(rows + (i - begin) * row, result.channels, result.first + i * result.stride);
    rows += result.channels;
  }
}

// Calls visit(begin, end) for pixels [first, last), block by block.
template <class Visit>
void each_block(std::int64_t first, std::int64_t last, Visit visit) {
  for (std::int64_t i = first; i < last; i += kBlock) visit(i, std::min(i + kBlock, last));
}

void forward_rows(const std::vector<PixelRows>& inputs, const Tensor& weight, const Tensor& bias,
                  const PixelRows& output) {
  const std::int64_t out = weight.size(0), in = weight.size(1);
  const Tensor panel = torch::zeros({in, kPanel}), start = torch::zeros({kPanel});
  panel.narrow(1, 0, out).copy_(weight.t());
  start.narrow(0, 0, out).copy_(bias);
  at::parallel_for(0, output.rows.size(0), kBlock, [&](std::int64_t first, std::int64_t last) {
    LineVector<float> rows(static_cast<std::size_t>(kBlock * in)), product(kBlock * kPanel);
    each_block(first, last, [&](std::int64_t begin, std::int64_t end) {
      concat_rows(inputs, begin, end, rows.data(), in);
      multiply_rows({rows.data(), end - begin, in, in}, panel.data_ptr<float>(),
                    start.data_ptr<float>(), product.data(), kPanel, out);
      for (std::int64_t i = begin; i < end; ++i)
        std::copy_n(product.data() + (i - begin) * kPanel, out, output.first + i * output.stride);
    });
  });
}

// (filters, channels)
Tensor weight_gradient(const std::vector<PixelRows>& inputs, const PixelRows& gradient,
                       std::int64_t in) {
  const std::int64_t pixels = gradient.rows.size(0);
  const Tensor sums = torch::zeros({kParts, in, kPanel});
  at::parallel_for(0, kParts, 1, [&](std::int64_t first, std::int64_t last) {
    LineVector<float> rows(static_cast<std::size_t>(kBlock * in));
    LineVector<float> wide(kBlock * kPanel, 0);
    for (std::int64_t part = first; part < last; ++part)
      each_block(pixels * part / kParts, pixels * (part + 1) / kParts,
                 [&](std::int64_t begin, std::int64_t end) {
                   concat_rows(inputs, begin, end, rows.data(), in);
                   for (std::int64_t i = begin; i < end; ++i)
                     std::copy_n(gradient.first + i * gradient.stride, gradient.channels,
                                 wide.data() + (i - begin) * kPanel);
                   add_transposed_product({rows.data(), end - begin, in, in}, wide.data(), kPanel,
                                          sums.data_ptr<float>() + part * in * kPanel, kPanel);
                 });
  });
  return sums.sum(0).narrow(1, 0, gradient.channels).t();
}

void input_gradient(const PixelRows& gradient, const Tensor& weight,
                    const std::vector<PixelRows>& results) {
  const std::int64_t out = weight.size(0), in = weight.size(1), row = whole_panels(in);
  const Tensor padded = torch::zeros({out, row});
  padded.narrow(1, 0, in).copy_(weight);
  const Tensor panels = padded.view({out, -1, kPanel}).transpose(0, 1).contiguous();
  at::parallel_for(0, gradient.rows.size(0), kBlock, [&](std::int64_t first, std::int64_t last) {
    LineVector<float> product(static_cast<std::size_t>(kBlock * row));
    each_block(first, last, [&](std::int64_t begin, std::int64_t end) {
      multiply_rows({gradient.first + begin * gradient.stride, end - begin, gradient.stride, out},
                    panels.data_ptr<float>(), nullptr, product.data(), row, in);
      split_rows(product.data(), row, begin, end, results);
    });
  });
}

struct NarrowPointwiseConv : Function<NarrowPointwiseConv> {
  static Tensor forward(AutogradContext* context, const Tensor& weight, const Tensor& bias,
                        at::TensorList inputs) {
    variable_list saved(inputs.begin(), inputs.end());
    saved.push_back(weight);
    const OperatorScope scope("tutti::narrow_pointwise_conv", saved);
    const Tensor output = empty_image(
        {inputs[0].size(0), weight.size(0), inputs[0].size(2), inputs[0].size(3)}, torch::kFloat32);
    forward_rows(rows_of_all(inputs), weight.flatten(1), bias, PixelRows(output));
    context->save_for_backward(saved);
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const OperatorScope scope("tutti::narrow_pointwise_conv_backward", saved);
    const at::TensorList inputs(saved.data(), saved.size() - 1);
    const Tensor& weight = saved.back();
    const PixelRows gradient(readable(gradients[0], torch::kFloat32));
    variable_list result = {
        weight_gradient(rows_of_all(inputs), gradient, weight.size(1)).reshape(weight.sizes()),
        gradient.rows.sum(0)};
    for (const Tensor& input : inputs)
      result.push_back(empty_image(input.sizes(), torch::kFloat32));
    input_gradient(gradient, weight.flatten(1), rows_of_all(at::TensorList(result).slice(2)));
    return result;
  }
};

}  // namespace

Tensor narrow_pointwise_conv(at::TensorList inputs, const Tensor& weight, const Tensor& bias) {
  const std::vector<Tensor> images = readables(inputs, torch::kFloat32);
  return NarrowPointwiseConv::apply(weight.to(torch::kFloat32), bias.to(torch::kFloat32),
                                    at::TensorList(images));
}

}  // namespace tutti::kernels
