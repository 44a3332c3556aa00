#include "tutti/kernels/conv2d/conv.h"

#include <torch/autograd.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/types.h>

#include "tutti/kernels/amx/amx.h"
#include "tutti/kernels/amx/tile_conv.h"
#include "tutti/kernels/conv2d/concat_conv.h"
#include "tutti/kernels/conv2d/float_conv.h"
#include "tutti/kernels/conv2d/narrow_pointwise_conv.h"
#include "tutti/kernels/operator_scope.h"
#include "tutti/kernels/winograd/winograd.h"

namespace tutti::kernels {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// An image in channels_last is a matrix with one row per pixel.
Tensor rows_of(const Tensor& image) {
  return image.permute({0, 2, 3, 1}).reshape({-1, image.size(1)});
}
Tensor image_of(const Tensor& rows, const Tensor& like) {
  return rows.view({like.size(0), like.size(2), like.size(3), rows.size(1)}).permute({0, 3, 1, 2});
}

// im2col: copies the neighbourhood of every pixel to one row, zero-padded to a width that suits AMX. Adjacent pixels of
// an image row are contiguous in memory, so there is one copy per kernel row.
template <class T>
void copy_patches(const T* image, T* patches, std::int64_t height, std::int64_t width,
                  std::int64_t channels, std::int64_t kernel, std::int64_t row_length,
                  std::int64_t y) {
  const std::int64_t half = kernel / 2;
  for (std::int64_t x = 0; x < width; ++x) {
    T* out = patches + (y * width + x) * row_length;
    const std::int64_t first = std::max<std::int64_t>(0, x - half),
                       last = std::min(width, x + half + 1);
    for (std::int64_t ky = 0; ky < kernel; ++ky) {
      const std::int64_t row = y + ky - half;
      if (row < 0 || row >= height) continue;
      std::copy(image + (row * width + first) * channels, image + (row * width + last) * channels,
                out + (ky * kernel + first - (x - half)) * channels);
    }
  }
}

constexpr std::int64_t kPatchWidth = 32;

Tensor patches_of(const Tensor& image, std::int64_t kernel) {
  const std::int64_t n = image.size(0), channels = image.size(1), height = image.size(2),
                     width = image.size(3);
  Tensor patches = torch::zeros({n * height * width, kPatchWidth}, image.options());
  const auto* in = image.data_ptr<at::BFloat16>();
  auto* out = patches.data_ptr<at::BFloat16>();
  at::parallel_for(0, n * height, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      copy_patches(in + i / height * height * width * channels,
                   out + i / height * height * width * kPatchWidth, height, width, channels, kernel,
                   kPatchWidth, i % height);
  });
  return patches;
}

Tensor sum_rows(const Tensor& rows) {
  return torch::ones({1, rows.size(0)}, rows.options()).mm(rows).view({-1}).to(torch::kFloat32);
}

// Few channels: all kernel positions fit into one row of a matrix.
struct NarrowConv : Function<NarrowConv> {
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& weight,
                        const Tensor& bias) {
    const OperatorScope scope("tutti::narrow_conv", {input, weight, bias});
    const std::int64_t kernel = weight.size(2), used = weight.size(1) * kernel * kernel;
    const Tensor image = input.to(torch::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
    const Tensor patches = patches_of(image, kernel);
    Tensor matrix = torch::zeros({kPatchWidth, weight.size(0)}, torch::kBFloat16);
    matrix.narrow(0, 0, used).copy_(weight.permute({2, 3, 1, 0}).reshape({used, -1}));
    context->save_for_backward({patches, weight});
    return image_of(torch::addmm(bias.to(torch::kBFloat16), patches, matrix), input);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &patches = saved[0], &weight = saved[1];
    const std::int64_t kernel = weight.size(2), channels = weight.size(1);
    const Tensor rows = rows_of(gradients[0]);
    const Tensor matrix = patches.t().mm(rows).narrow(0, 0, channels * kernel * kernel);
    const Tensor weight_gradient = matrix.view({kernel, kernel, channels, weight.size(0)})
                                       .permute({3, 2, 0, 1})
                                       .to(torch::kFloat32);
    return {Tensor(), weight_gradient, sum_rows(rows)};
  }
};

Slice slice_of(const Tensor& image) {
  return {static_cast<Bf16*>(image.data_ptr()), image.size(1), image.stride(3), image.stride(2),
          image.stride(0)};
}

// Convolution on AMX: any number of channels, stride and dilation.
struct TileKernels {
  static constexpr auto kType = torch::kBFloat16;

  static void forward(const ConvShape& shape, at::TensorList inputs, const Tensor& weight,
                      const Tensor& bias, bool has_relu, const Tensor& output) {
    const Tensor matrix = weight.permute({0, 2, 3, 1}).to(torch::kFloat32).contiguous(),
                 biases = bias.to(torch::kFloat32).contiguous();
    const Slice to = slice_of(output);
    tile_conv(shape, concatenated(shape, inputs), matrix.data_ptr<float>(),
              biases.data_ptr<float>(), has_relu, {&to, 1});
  }

  static variable_list weight_gradients(const ConvShape& shape, at::TensorList inputs,
                                        const Tensor& gradient, const Tensor& sign) {
    WeightGradient sums = tile_weight_gradient(shape, concatenated(shape, inputs),
                                               upsampled_gradient(shape, gradient, sign));
    const Tensor weights =
        torch::from_blob(sums.weights.data(), {shape.kernel, shape.kernel, sums.out, sums.in})
            .narrow(2, 0, shape.out)
            .narrow(3, 0, shape.in)
            .permute({2, 3, 0, 1})
            .clone(at::MemoryFormat::ChannelsLast);
    return {weights, torch::from_blob(sums.bias.data(), {shape.out}).clone()};
  }

  static void input_gradients(const ConvShape& shape, const Tensor& gradient, const Tensor& sign,
                              const Tensor& weight, at::TensorList inputs, at::TensorList results) {
    std::vector<Slice> slices;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      slices.push_back(results[i].defined() ? slice_of(results[i])
                                            : Slice{nullptr, inputs[i].size(1)});
    const Tensor flipped =
        weight.flip({2, 3}).permute({1, 2, 3, 0}).to(torch::kFloat32).contiguous();
    const ConvShape back{shape.images, shape.height, shape.width, shape.out,
                         shape.in,     shape.kernel, 1,           shape.dilation};
    tile_conv(back, upsampled_gradient(shape, gradient, sign), flipped.data_ptr<float>(), nullptr,
              false, slices);
  }

 private:
  static ConcatRows concatenated(const ConvShape& shape, at::TensorList inputs) {
    ConcatRows rows{{}, shape.images, shape.height, shape.width};
    for (const Tensor& input : inputs) rows.slices.push_back(slice_of(input));
    return rows;
  }
  // The gradient at the size of the input, with zeros at the pixels skipped by the stride.
  static ConcatRows upsampled_gradient(const ConvShape& shape, const Tensor& gradient,
                                       const Tensor& sign) {
    ConcatRows rows{{slice_of(gradient)}, shape.images, shape.height, shape.width, shape.stride};
    if (sign.defined()) rows.sign = slice_of(sign);
    return rows;
  }
};

// 1x1 kernel over several inputs: a sum of matrix products, so the inputs need not be concatenated.
Tensor pixel_products(at::TensorList inputs, const Tensor& weight, const Tensor& bias,
                      torch::ScalarType dtype) {
  const Tensor columns = weight.to(dtype).flatten(1).t();
  Tensor sum = bias.to(dtype);
  std::int64_t first = 0;
  for (const Tensor& input : inputs) {
    sum = torch::addmm(sum, rows_of(input.to(dtype)), columns.narrow(0, first, input.size(1)));
    first += input.size(1);
  }
  return image_of(sum, inputs[0]);
}

// Computes in f32 or f64. Tracing for TorchScript export records this path, so while tracing only operations of
// libtorch may be used: of a custom operation the trace would contain only the empty result.
Tensor without_matrix_units(at::TensorList inputs, const Tensor& weight, const Tensor& bias,
                            torch::ScalarType dtype, const ConvOptions& options) {
  const bool is_recorded = torch::jit::tracer::isTracing();
  const bool is_plain = weight.size(2) == 3 && options.stride == 1 && options.dilation == 1;
  if (dtype == torch::kFloat32 && is_plain && !is_recorded &&
      std::min(weight.size(0), weight.size(1)) >= kFewChannels)
    return float_conv(inputs, weight, bias, options.has_relu);
  const bool is_pixelwise = weight.size(2) == 1 && options.stride == 1;
  if (dtype == torch::kFloat32 && is_pixelwise && !is_recorded && !options.has_relu &&
      weight.size(0) <= kMaxNarrowFilters)
    return narrow_pointwise_conv(inputs, weight, bias);
  const bool is_concat = inputs.size() > 1 && !is_recorded, is_sum = is_concat && is_pixelwise;
  if (dtype == torch::kFloat32 && is_concat && !is_sum)
    return float_conv_of_concat(inputs, weight, bias, options.stride, options.dilation,
                                options.has_relu);
  const Tensor result =
      is_sum ? pixel_products(inputs, weight, bias, dtype)
             : torch::conv2d((inputs.size() == 1 ? inputs[0] : torch::cat(inputs, 1)).to(dtype),
                             weight.to(dtype), bias.to(dtype), options.stride,
                             weight.size(2) / 2 * options.dilation, options.dilation);
  return options.has_relu ? torch::relu(result) : result;
}

}  // namespace

Tensor conv_same(at::TensorList inputs, const Tensor& weight, const Tensor& bias,
                 torch::ScalarType dtype, const ConvOptions& options) {
  TORCH_CHECK(weight.size(2) == weight.size(3) && weight.size(2) % 2 == 1,
              "conv_same: the kernel must be odd and square");
  if (dtype != torch::kBFloat16) return without_matrix_units(inputs, weight, bias, dtype, options);
  // Without AMX, libtorch's bf16 convolution rounds sums to bf16 and is slow.
  if (!has_matrix_units())
    return without_matrix_units(inputs, weight, bias, torch::kFloat32, options).to(dtype);
  const bool is_narrow = weight.size(1) * weight.size(2) * weight.size(3) <= kPatchWidth,
             is_plain = inputs.size() == 1 && options.stride == 1 && options.dilation == 1;
  if (is_narrow && is_plain && !options.has_relu && !inputs[0].requires_grad())
    return NarrowConv::apply(inputs[0], weight, bias);
  const std::vector<Tensor> images = readables(inputs, torch::kBFloat16);
  return ConcatConv<TileKernels>::apply(weight, bias, at::TensorList(images), options.stride,
                                        options.dilation, options.has_relu);
}

}  // namespace tutti::kernels
