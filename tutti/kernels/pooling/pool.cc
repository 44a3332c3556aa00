#include <torch/autograd.h>
#include <torch/types.h>

#include "tutti/kernels/conv2d/conv.h"
#include "tutti/kernels/operator_scope.h"
#include "tutti/kernels/pooling/pool_rows.h"

namespace tutti::kernels {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct PoolShape {
  explicit PoolShape(torch::IntArrayRef sizes)
      : images(sizes[0]), channels(sizes[1]), height(sizes[2]), width(sizes[3]) {}
  std::int64_t images, channels, height, width;
  std::int64_t out_height() const { return height / 2; }
  std::int64_t out_width() const { return width / 2; }
  // Index of the first element of the two input rows of output `row`, which counts over all images.
  std::int64_t first(std::int64_t row) const {
    return (row / out_height() * height + 2 * (row % out_height())) * width * channels;
  }
};

template <class Bits>
void pool_forward(const PoolShape& shape, const Bits* in, Bits* out, std::uint8_t* winner,
                  const DropRule& rule) {
  const std::int64_t columns = shape.out_width(), size = columns * shape.channels;
  at::parallel_for(0, shape.images * shape.out_height(), 4,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row) {
                       const Bits* top = in + shape.first(row);
                       pool_row(top, top + shape.width * shape.channels, out + row * size,
                                winner + row * size, columns, shape.channels, row * columns, rule);
                     }
                   });
}

template <class Bits>
void pool_backward(const PoolShape& shape, const Bits* gradient, const std::uint8_t* winner,
                   Bits* out) {
  const std::int64_t columns = shape.out_width(), size = columns * shape.channels;
  at::parallel_for(0, shape.images * shape.out_height(), 4,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row) {
                       Bits* top = out + shape.first(row);
                       unpool_row(gradient + row * size, winner + row * size, top,
                                  top + shape.width * shape.channels, columns, shape.channels);
                     }
                   });
}

struct PoolReluDrop : Function<PoolReluDrop> {
  static Tensor forward(AutogradContext* context, const Tensor& input, double drop,
                        std::int64_t seed) {
    const OperatorScope scope("tutti::pool_relu_drop", input);
    const Tensor image = input.contiguous(at::MemoryFormat::ChannelsLast);
    const PoolShape shape(image.sizes());
    const std::vector<std::int64_t> size = {shape.images, shape.channels, shape.out_height(),
                                            shape.out_width()};
    const auto last = image.options().memory_format(at::MemoryFormat::ChannelsLast);
    Tensor output = torch::empty(size, last),
           winner = torch::empty(size, last.dtype(torch::kUInt8));
    const DropRule rule{static_cast<std::uint64_t>(seed), static_cast<std::uint32_t>(drop * 65536)};
    if (image.scalar_type() == torch::kBFloat16)
      pool_forward(shape, static_cast<const std::int16_t*>(image.data_ptr()),
                   static_cast<std::int16_t*>(output.data_ptr()), winner.data_ptr<std::uint8_t>(),
                   rule);
    else
      pool_forward(shape, image.data_ptr<float>(), output.data_ptr<float>(),
                   winner.data_ptr<std::uint8_t>(), rule);
    context->saved_data["sizes"] = image.sizes();
    context->save_for_backward({winner});
    return output;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Tensor winner = context->get_saved_variables()[0];
    const OperatorScope scope("tutti::pool_relu_drop_backward", winner);
    const std::vector<std::int64_t> sizes = context->saved_data["sizes"].toIntVector();
    const PoolShape shape(sizes);
    const Tensor gradient = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    const auto last = gradient.options().memory_format(at::MemoryFormat::ChannelsLast);
    const bool is_even = shape.height % 2 == 0 && shape.width % 2 == 0;
    Tensor result = is_even ? torch::empty(sizes, last)
                            : torch::zeros(sizes, last.memory_format(c10::nullopt))
                                  .contiguous(at::MemoryFormat::ChannelsLast);
    if (gradient.scalar_type() == torch::kBFloat16)
      pool_backward(shape, static_cast<const std::int16_t*>(gradient.data_ptr()),
                    winner.data_ptr<std::uint8_t>(), static_cast<std::int16_t*>(result.data_ptr()));
    else
      pool_backward(shape, gradient.data_ptr<float>(), winner.data_ptr<std::uint8_t>(),
                    result.data_ptr<float>());
    return {result, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor pool_relu_drop(const Tensor& input, double drop, std::uint64_t seed) {
  return PoolReluDrop::apply(input, drop, static_cast<std::int64_t>(seed));
}

}  // namespace tutti::kernels
