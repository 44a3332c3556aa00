#include "tutti/models/ops/conv.h"

#include <torch/torch.h>

#include "tutti/models/ops/amx.h"

namespace tutti::models {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// A picture in channels_last is a matrix with one row per pixel.
Tensor rows_of(const Tensor& image) {
  return image.permute({0, 2, 3, 1}).reshape({-1, image.size(1)});
}
Tensor image_of(const Tensor& rows, const Tensor& like) {
  return rows.view({like.size(0), like.size(2), like.size(3), rows.size(1)}).permute({0, 3, 1, 2});
}

// The pixels around every pixel side by side, filled up with zeros to a width that matrix units
// like. Rows of pixels that lie behind each other in the picture do so in memory: one copy per
// kernel row.
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

// Few channels: all places of the kernel fit into one row of a matrix.
struct NarrowConv : Function<NarrowConv> {
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& weight,
                        const Tensor& bias) {
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

// Gradient of the weights. In the picture with a frame of zeros, flattened to rows of pixels, the
// neighbour (ky, kx) of every pixel is a fixed number of rows away; products with the frame of the
// gradient vanish. So each place of the kernel is one product of two whole matrices.
Tensor weight_gradient_of(const Tensor& image, const Tensor& gradient, std::int64_t kernel) {
  const std::int64_t half = kernel / 2, width = image.size(3) + 2 * half;
  auto framed = [&](const Tensor& t) {
    return rows_of(torch::constant_pad_nd(t, {half, half, half, half})
                       .contiguous(at::MemoryFormat::ChannelsLast));
  };
  const Tensor x = framed(image), g = framed(gradient);
  const std::int64_t reach = half * width + half, count = x.size(0) - 2 * reach;
  const Tensor centre = g.narrow(0, reach, count);
  Tensor result = torch::empty({gradient.size(1), image.size(1), kernel, kernel}, torch::kFloat32);
  for (std::int64_t ky = 0; ky < kernel; ++ky)
    for (std::int64_t kx = 0; kx < kernel; ++kx)
      result.select(3, kx).select(2, ky).copy_(
          x.narrow(0, ky * width + kx, count).t().mm(centre).t());
  return result;
}

struct WideConv : Function<WideConv> {
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& weight,
                        const Tensor& bias) {
    const Tensor image = input.to(torch::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
    const Tensor small = weight.to(torch::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
    context->save_for_backward({image, small});
    return torch::conv2d(image, small, bias.to(torch::kBFloat16), 1, weight.size(2) / 2);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &image = saved[0], &weight = saved[1];
    const std::int64_t kernel = weight.size(2);
    const Tensor gradient = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    Tensor input_gradient;
    if (context->needs_input_grad(0)) {
      const Tensor turned =
          weight.flip({2, 3}).transpose(0, 1).contiguous(at::MemoryFormat::ChannelsLast);
      input_gradient = torch::conv2d(gradient, turned, {}, 1, kernel / 2);
    }
    return {input_gradient, weight_gradient_of(image, gradient, kernel),
            sum_rows(rows_of(gradient))};
  }
};

}  // namespace

Tensor conv_same(const Tensor& input, const Tensor& weight, const Tensor& bias,
                 torch::ScalarType dtype) {
  TORCH_CHECK(weight.size(2) == weight.size(3) && weight.size(2) % 2 == 1,
              "conv_same: the kernel must be odd and square");
  if (dtype == torch::kBFloat16 && has_matrix_units()) {
    const bool is_narrow = weight.size(1) * weight.size(2) * weight.size(3) <= kPatchWidth;
    if (is_narrow && !input.requires_grad()) return NarrowConv::apply(input, weight, bias);
    if (weight.size(1) % 32 == 0 && weight.size(0) % 32 == 0)
      return WideConv::apply(input, weight, bias);
  }
  return torch::conv2d(input.to(dtype), weight.to(dtype), bias.to(dtype), 1, weight.size(2) / 2);
}

}  // namespace tutti::models
