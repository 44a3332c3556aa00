#include "tutti/kernels/conv3d/volume.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include "tutti/kernels/amx/amx.h"
#include "tutti/kernels/conv3d/volume_kernels.h"
#include "tutti/kernels/operator_scope.h"

namespace tutti::kernels {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr auto kLast3d = at::MemoryFormat::ChannelsLast3d;

Extent extent_of(const Tensor& volume) {
  return {volume.size(2), volume.size(3), volume.size(4)};
}

Tensor empty_volume(std::int64_t n, std::int64_t channels, const Extent& e,
                    torch::ScalarType dtype) {
  return torch::empty({n, channels, e.depth, e.height, e.width},
                      torch::TensorOptions().dtype(dtype).memory_format(kLast3d));
}

// Calls task(sample, plane) for all planes of all samples, in parallel.
template <class Task>
void each_plane(std::int64_t samples, std::int64_t planes, Task task) {
  at::parallel_for(0, samples * planes, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) task(i / planes, i % planes);
  });
}

std::vector<std::int64_t> cubed(std::int64_t value) {
  return {value, value, value};
}

Tensor weight_gradients(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                        std::int64_t stride, std::int64_t padding, Tensor& bias_gradient,
                        Tensor* input_gradient) {
  const auto out = at::convolution_backward(
      gradient.to(torch::kFloat32), input.to(torch::kFloat32), weight.to(torch::kFloat32),
      at::IntArrayRef(std::vector<std::int64_t>{weight.size(0)}), cubed(stride), cubed(padding),
      cubed(1), false, cubed(0), 1, {input_gradient != nullptr, true, true});
  if (input_gradient) *input_gradient = std::get<0>(out).to(input.scalar_type());
  bias_gradient = std::get<2>(out);
  return std::get<1>(out);
}

struct MixedConv : Function<MixedConv> {
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& weight,
                        const Tensor& bias, std::int64_t stride, std::int64_t padding) {
    const Tensor volume = input.to(torch::kBFloat16).contiguous(kLast3d);
    const Tensor small = weight.to(torch::kBFloat16).contiguous(kLast3d);
    context->save_for_backward({volume, small});
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    return torch::conv3d(volume, small, bias.to(torch::kBFloat16), stride, padding);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &volume = saved[0], &weight = saved[1];
    const std::int64_t stride = context->saved_data["stride"].toInt(),
                       padding = context->saved_data["padding"].toInt();
    const Tensor gradient = gradients[0].contiguous(kLast3d);
    Tensor input_gradient, bias_gradient;
    const bool wants_input = context->needs_input_grad(0);
    if (wants_input && stride == 1) {
      const Tensor flipped = weight.flip({2, 3, 4}).transpose(0, 1).contiguous(kLast3d);
      input_gradient = torch::conv3d(gradient, flipped, {}, 1, weight.size(2) - 1 - padding);
    }
    const Tensor weight_gradient =
        weight_gradients(gradient, volume, weight, stride, padding, bias_gradient,
                         wants_input && stride != 1 ? &input_gradient : nullptr);
    return {input_gradient, weight_gradient, bias_gradient, Tensor(), Tensor()};
  }
};

template <class T>
struct Typed {
  static const T* in(const Tensor& t) { return static_cast<const T*>(t.data_ptr()); }
  static T* out(Tensor& t) { return static_cast<T*>(t.data_ptr()); }
};

struct LeakyMeanPool : Function<LeakyMeanPool> {
  static Tensor forward(AutogradContext* context, const Tensor& input, double slope) {
    const OperatorScope scope("tutti::leaky_mean_pool", input);
    const Tensor x = input.contiguous(kLast3d);
    const Extent extent = extent_of(x), pooled = extent.halved();
    Tensor out = empty_volume(x.size(0), x.size(1), pooled, x.scalar_type());
    Tensor signs = empty_volume(x.size(0), x.size(1), pooled, torch::kUInt8);
    if (x.scalar_type() == torch::kBFloat16)
      pool<std::uint16_t>(x, out, signs, slope);
    else
      pool<float>(x, out, signs, slope);
    context->save_for_backward({signs});
    context->saved_data["extent"] = x.sizes().vec();
    context->saved_data["slope"] = slope;
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Tensor signs = context->get_saved_variables()[0],
                 gradient = gradients[0].contiguous(kLast3d);
    const OperatorScope scope("tutti::leaky_mean_pool_backward", signs);
    const auto sizes = context->saved_data["extent"].toIntVector();
    const double slope = context->saved_data["slope"].toDouble();
    const Extent extent{sizes[2], sizes[3], sizes[4]};
    Tensor out = empty_volume(sizes[0], sizes[1], extent, gradient.scalar_type());
    if (extent.depth % 2 + extent.height % 2 + extent.width % 2 > 0) out.zero_();
    if (gradient.scalar_type() == torch::kBFloat16)
      unpool<std::uint16_t>(gradient, signs, out, extent, slope);
    else
      unpool<float>(gradient, signs, out, extent, slope);
    return {out, Tensor()};
  }

 private:
  template <class T>
  static void pool(const Tensor& x, Tensor& out, Tensor& signs, double slope) {
    const Extent extent = extent_of(x), pooled = extent.halved();
    const std::int64_t channels = x.size(1);
    each_plane(x.size(0), pooled.depth, [&](std::int64_t n, std::int64_t z) {
      mean_pool_plane<T>(Typed<T>::in(x) + n * extent.count() * channels,
                         Typed<T>::out(out) + n * pooled.count() * channels,
                         signs.data_ptr<std::uint8_t>() + n * pooled.count() * channels, extent,
                         channels, static_cast<float>(slope), z);
    });
  }
  template <class T>
  static void unpool(const Tensor& gradient, const Tensor& signs, Tensor& out, const Extent& extent,
                     double slope) {
    const Extent pooled = extent.halved();
    const std::int64_t channels = out.size(1);
    each_plane(out.size(0), pooled.depth, [&](std::int64_t n, std::int64_t z) {
      mean_pool_backward_plane<T>(Typed<T>::in(gradient) + n * pooled.count() * channels,
                                  signs.data_ptr<std::uint8_t>() + n * pooled.count() * channels,
                                  Typed<T>::out(out) + n * extent.count() * channels, extent,
                                  channels, static_cast<float>(slope), z);
    });
  }
};

constexpr std::int64_t kFilters = 8, kTaps = 27;

struct FirstLayer : Function<FirstLayer> {
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& weight,
                        const Tensor& bias, double slope) {
    const OperatorScope scope("tutti::first_layer", {input, weight, bias});
    const Tensor x = input.to(torch::kFloat32).contiguous(),
                 taps = weight.view({-1, kTaps}).t().contiguous();
    const std::int64_t filters = weight.size(0);
    const Extent extent = extent_of(x),
                 pooled = Extent{extent.depth - 2, extent.height - 2, extent.width - 2}.halved();
    Tensor out = empty_volume(x.size(0), filters, pooled, torch::kFloat32);
    Tensor signs = empty_volume(x.size(0), filters, pooled, torch::kUInt8);
    each_plane(x.size(0), pooled.depth, [&](std::int64_t n, std::int64_t z) {
      first_layer_plane(x.data_ptr<float>() + n * extent.count(), taps.data_ptr<float>(),
                        bias.data_ptr<float>(),
                        out.data_ptr<float>() + n * pooled.count() * filters,
                        signs.data_ptr<std::uint8_t>() + n * pooled.count() * filters, extent,
                        filters, static_cast<float>(slope), z);
    });
    context->save_for_backward({x, signs});
    context->saved_data["slope"] = slope;
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const OperatorScope scope("tutti::first_layer_backward", saved);
    const Tensor &x = saved[0], &signs = saved[1];
    const auto slope = static_cast<float>(context->saved_data["slope"].toDouble());
    const Tensor g = gradients[0].to(torch::kFloat32).contiguous(kLast3d);
    const std::int64_t filters = g.size(1), planes = g.size(2), tasks = x.size(0) * planes;
    const Extent extent = extent_of(x), pooled = extent_of(g);
    // A fixed number of partial sums, so the result is bitwise identical for any number of threads.
    const std::int64_t pieces = std::min<std::int64_t>(tasks, 16);
    Tensor taps = torch::zeros({pieces, kTaps, filters});
    Tensor bias = torch::zeros({pieces, filters});
    each_plane(pieces, 1, [&](std::int64_t piece, std::int64_t) {
      for (std::int64_t i = piece * tasks / pieces; i < (piece + 1) * tasks / pieces; ++i) {
        const std::int64_t at = i / planes * pooled.count() * filters;
        first_layer_backward_plane(
            x.data_ptr<float>() + i / planes * extent.count(), g.data_ptr<float>() + at,
            signs.data_ptr<std::uint8_t>() + at, taps.data_ptr<float>() + piece * kTaps * filters,
            bias.data_ptr<float>() + piece * filters, extent, filters, slope, i % planes);
      }
    });
    return {Tensor(), taps.sum(0).t().reshape({-1, 1, 3, 3, 3}), bias.sum(0), Tensor()};
  }
};

}  // namespace

Tensor conv_volume(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   torch::ScalarType dtype, std::int64_t stride, std::int64_t padding) {
  if (dtype == torch::kBFloat16 && has_matrix_units())
    return MixedConv::apply(input, weight, bias, stride, padding);
  // Without AMX, libtorch's bf16 convolution rounds sums to bf16 and is slow.
  const torch::ScalarType sums = dtype == torch::kBFloat16 ? torch::kFloat32 : dtype;
  return torch::conv3d(input.to(sums), weight.to(sums), bias.to(sums), stride, padding).to(dtype);
}

Tensor leaky_mean_pool(const Tensor& input, double slope) {
  return LeakyMeanPool::apply(input, slope);
}

Tensor first_conv_leaky_mean_pool(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                  torch::ScalarType dtype, double slope) {
  TORCH_CHECK(input.size(1) == 1 && weight.size(2) == 3 && weight.size(0) % kFilters == 0,
              "first_conv_leaky_mean_pool: one channel, kernel 3, filters in eights");
  return FirstLayer::apply(input, weight, bias, slope).to(dtype);
}

}  // namespace tutti::kernels
