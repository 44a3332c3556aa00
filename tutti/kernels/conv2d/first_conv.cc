#include <torch/autograd.h>
#include <torch/types.h>

#include "tutti/kernels/amx/concat_rows.h"
#include "tutti/kernels/conv2d/conv.h"
#include "tutti/kernels/operator_scope.h"
#include "tutti/kernels/pooling/pool_rows.h"
#include "tutti/kernels/winograd/panel_products.h"

namespace tutti::kernels {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr auto kLast = at::MemoryFormat::ChannelsLast;
constexpr std::int64_t kKernel = 3;
constexpr std::int64_t kColumns = 24;  // pooled pixels per strip; inputs stay in the cache
constexpr std::int64_t kPieces = 16;   // partial sums, for any number of threads

struct FirstConvShape {
  FirstConvShape(const Tensor& image, std::int64_t filters_)
      : images(image.size(0)),
        channels(image.size(1)),
        height(image.size(2)),
        width(image.size(3)),
        filters(filters_) {}
  std::int64_t images, channels, height, width, filters;
  std::int64_t columns() const { return width / 2; }
  std::int64_t rows() const { return images * (height / 2); }  // pooled rows of all images
  std::int64_t tap_count() const { return kKernel * kKernel * channels; }
};

// The four rows of an image that contribute to two rows of the convolution, with zero padding.
class InputRows {
 public:
  explicit InputRows(const FirstConvShape& shape)
      : shape_(shape),
        length_((shape.width + 2) * shape.channels),
        values_(static_cast<std::size_t>(4 * length_), 0) {}

  // Reads the input of pooled row `row`.
  void read(const float* images, std::int64_t row) {
    const std::int64_t pooled = shape_.height / 2, size = shape_.width * shape_.channels,
                       image = row / pooled, first = 2 * (row % pooled) - 1;
    for (std::int64_t y = 0; y < 4; ++y) {
      float* to = values_.data() + y * length_ + shape_.channels;
      if (first + y < 0 || first + y >= shape_.height)
        std::fill(to, to + size, 0.f);
      else
        std::copy_n(images + (image * shape_.height + first + y) * size, size, to);
    }
  }
  // Matrix with one row per pixel: the receptive fields of `count` pixels from (y, x) on; y is 0 or 1.
  LeftMatrix patches(std::int64_t y, std::int64_t x, std::int64_t count) const {
    return {at(y, x), count, shape_.channels, kKernel * shape_.channels, kKernel, length_};
  }
  // The same for kernel row `line` only.
  LeftMatrix patches_of_line(std::int64_t line, std::int64_t y, std::int64_t x,
                             std::int64_t count) const {
    return {at(y + line, x), count, shape_.channels, kKernel * shape_.channels};
  }

 private:
  const float* at(std::int64_t y, std::int64_t x) const {
    return values_.data() + y * length_ + x * shape_.channels;
  }
  const FirstConvShape& shape_;
  std::int64_t length_;
  std::vector<float> values_;
};

// Two rows of the convolution for kColumns pooled pixels.
class Strip {
 public:
  explicit Strip(std::int64_t filters)
      : filters_(filters), values_(static_cast<std::size_t>(4 * kColumns * filters)) {}
  float* row(std::int64_t y) { return values_.data() + y * 2 * kColumns * filters_; }

 private:
  std::int64_t filters_;
  LineVector<float> values_;
};

// Calls task(pooled row, first column, columns) for the strips of a row.
template <class Task>
void each_strip(const FirstConvShape& shape, std::int64_t row, Task task) {
  for (std::int64_t column = 0; column < shape.columns(); column += kColumns)
    task(row * shape.columns() + column, column, std::min(kColumns, shape.columns() - column));
}

void forward_rows(const FirstConvShape& shape, const float* images, const float* panels,
                  const float* bias, float* out, std::uint8_t* winner, const DropRule& rule,
                  std::int64_t begin, std::int64_t end) {
  InputRows input(shape);
  Strip strip(shape.filters);
  for (std::int64_t row = begin; row < end; ++row) {
    input.read(images, row);
    each_strip(shape, row, [&](std::int64_t position, std::int64_t column, std::int64_t count) {
      for (std::int64_t y = 0; y < 2; ++y)
        multiply_rows(input.patches(y, 2 * column, 2 * count), panels, bias, strip.row(y),
                      shape.filters, shape.filters);
      pool_row(strip.row(0), strip.row(1), out + position * shape.filters,
               winner + position * shape.filters, count, shape.filters, position, rule);
    });
  }
}

// Adds to the gradients of `weights`, (3, 3, channels, filters), and `bias`.
void backward_rows(const FirstConvShape& shape, const float* images, const float* gradient,
                   const std::uint8_t* winner, float* weights, float* bias, std::int64_t begin,
                   std::int64_t end) {
  constexpr float kOne = 1;
  InputRows input(shape);
  Strip strip(shape.filters);
  const std::int64_t line_size = shape.tap_count() / kKernel * shape.filters;
  for (std::int64_t row = begin; row < end; ++row) {
    input.read(images, row);
    each_strip(shape, row, [&](std::int64_t position, std::int64_t column, std::int64_t count) {
      unpool_row(gradient + position * shape.filters, winner + position * shape.filters,
                 strip.row(0), strip.row(1), count, shape.filters);
      for (std::int64_t y = 0; y < 2; ++y) {
        for (std::int64_t line = 0; line < kKernel; ++line)
          add_transposed_product(input.patches_of_line(line, y, 2 * column, 2 * count),
                                 strip.row(y), shape.filters, weights + line * line_size,
                                 shape.filters);
        add_transposed_product({&kOne, 2 * count, 0, 1}, strip.row(y), shape.filters, bias,
                               shape.filters);
      }
    });
  }
}

struct FirstConv : Function<FirstConv> {
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& weight,
                        const Tensor& bias, double drop, std::int64_t seed) {
    const OperatorScope scope("tutti::first_conv", {input, weight, bias});
    const Tensor image = input.to(torch::kFloat32).contiguous(kLast), biases = bias.contiguous();
    const FirstConvShape shape(image, weight.size(0));
    const Tensor panels = weight.permute({2, 3, 1, 0})
                              .reshape({shape.tap_count(), -1, kPanel})
                              .transpose(0, 1)
                              .contiguous();
    const std::vector<std::int64_t> size = {shape.images, shape.filters, shape.height / 2,
                                            shape.columns()};
    const auto last = image.options().memory_format(kLast);
    const Tensor output = torch::empty(size, last),
                 winner = torch::empty(size, last.dtype(torch::kUInt8));
    const DropRule rule{static_cast<std::uint64_t>(seed), static_cast<std::uint32_t>(drop * 65536)};
    at::parallel_for(0, shape.rows(), 1, [&](std::int64_t begin, std::int64_t end) {
      forward_rows(shape, image.data_ptr<float>(), panels.data_ptr<float>(),
                   biases.data_ptr<float>(), output.data_ptr<float>(),
                   winner.data_ptr<std::uint8_t>(), rule, begin, end);
    });
    context->save_for_backward({image, winner});
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const OperatorScope scope("tutti::first_conv_backward", saved);
    const Tensor &image = saved[0], &winner = saved[1];
    const Tensor gradient = gradients[0].contiguous(kLast);
    const FirstConvShape shape(image, gradient.size(1));
    const Tensor weights = torch::zeros({kPieces, kKernel, kKernel, shape.channels, shape.filters}),
                 bias = torch::zeros({kPieces, shape.filters});
    at::parallel_for(0, kPieces, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t piece = begin; piece < end; ++piece)
        backward_rows(shape, image.data_ptr<float>(), gradient.data_ptr<float>(),
                      winner.data_ptr<std::uint8_t>(),
                      weights.data_ptr<float>() + piece * shape.tap_count() * shape.filters,
                      bias.data_ptr<float>() + piece * shape.filters,
                      piece * shape.rows() / kPieces, (piece + 1) * shape.rows() / kPieces);
    });
    return {Tensor(), weights.sum(0).permute({3, 2, 0, 1}), bias.sum(0), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor first_conv_pool_relu_drop(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                 torch::ScalarType dtype, double drop, std::uint64_t seed) {
  if (dtype != torch::kFloat32 || weight.size(2) != kKernel || weight.size(0) % kPanel != 0)
    return pool_relu_drop(conv_same(input, weight, bias, dtype), drop, seed);
  return FirstConv::apply(input, weight, bias, drop, static_cast<std::int64_t>(seed));
}

}  // namespace tutti::kernels
