#include <torch/torch.h>

#include <cstring>

#include "tutti/models/ops/conv.h"

namespace tutti::models {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Which of the four inputs of an output was the largest, or that none came through: it was not
// positive, or dropped.
constexpr std::uint8_t kNone = 4;

// 32 pseudo-random bits for every place, the same whoever computes them.
inline std::uint32_t bits_at(std::uint32_t seed, std::uint32_t place) {
  std::uint32_t x = place * 0x9e3779b9u + seed;
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

// One row of channels. bf16 travels as int16: positive floats are ordered like their bits and
// negative ones have the sign bit, so max with 0 as integers is max with 0 as floats.
template <class Bits>
struct Pixels {
  const Bits *a, *b, *c, *d;
};

template <class Bits>
inline __attribute__((always_inline)) void pool_row_of(const Pixels<Bits>& in, Bits* out,
                                                       std::uint8_t* winner,
                                                       std::int64_t channels) {
  for (std::int64_t i = 0; i < channels; ++i) {
    Bits best = 0;
    std::uint8_t code = kNone;
    code = in.a[i] > best ? 0 : code;
    best = in.a[i] > best ? in.a[i] : best;
    code = in.b[i] > best ? 1 : code;
    best = in.b[i] > best ? in.b[i] : best;
    code = in.c[i] > best ? 2 : code;
    best = in.c[i] > best ? in.c[i] : best;
    code = in.d[i] > best ? 3 : code;
    best = in.d[i] > best ? in.d[i] : best;
    out[i] = best;
    winner[i] = code;
  }
}

template <class Bits>
inline __attribute__((always_inline)) void unpool_row_of(const Bits* gradient,
                                                         const std::uint8_t* winner,
                                                         Bits* const out[4],
                                                         std::int64_t channels) {
  for (int k = 0; k < 4; ++k) {
    Bits* to = out[k];
    for (std::int64_t i = 0; i < channels; ++i) to[i] = winner[i] == k ? gradient[i] : Bits(0);
  }
}

// Compiled for several instruction sets; the right one is chosen when the program starts.
#define TUTTI_FOR_EVERY_PROCESSOR \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))

TUTTI_FOR_EVERY_PROCESSOR void pool_row(const Pixels<std::int16_t>& in, std::int16_t* out,
                                        std::uint8_t* winner, std::int64_t channels) {
  pool_row_of(in, out, winner, channels);
}
TUTTI_FOR_EVERY_PROCESSOR void pool_row(const Pixels<float>& in, float* out, std::uint8_t* winner,
                                        std::int64_t channels) {
  pool_row_of(in, out, winner, channels);
}
TUTTI_FOR_EVERY_PROCESSOR void unpool_row(const std::int16_t* gradient, const std::uint8_t* winner,
                                          std::int16_t* const out[4], std::int64_t channels) {
  unpool_row_of(gradient, winner, out, channels);
}
TUTTI_FOR_EVERY_PROCESSOR void unpool_row(const float* gradient, const std::uint8_t* winner,
                                          float* const out[4], std::int64_t channels) {
  unpool_row_of(gradient, winner, out, channels);
}

// Marks what is dropped of one row; the values are masked and scaled as a whole afterwards.
TUTTI_FOR_EVERY_PROCESSOR void drop_row(std::uint8_t* winner, std::int64_t channels,
                                        std::uint32_t seed, std::uint32_t place,
                                        std::uint32_t threshold) {
  for (std::int64_t i = 0; i < channels; ++i) {
    const bool is_dropped = bits_at(seed, place + static_cast<std::uint32_t>(i)) < threshold;
    winner[i] = is_dropped ? kNone : winner[i];
  }
}
TUTTI_FOR_EVERY_PROCESSOR void mask_row(std::int16_t* out, const std::uint8_t* winner,
                                        std::int64_t channels, float scale) {
  for (std::int64_t i = 0; i < channels; ++i) {
    std::uint32_t bits = static_cast<std::uint32_t>(static_cast<std::uint16_t>(out[i])) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    value = winner[i] == kNone ? 0.f : value * scale;
    std::memcpy(&bits, &value, 4);
    out[i] = static_cast<std::int16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
  }
}
TUTTI_FOR_EVERY_PROCESSOR void mask_row(float* out, const std::uint8_t* winner,
                                        std::int64_t channels, float scale) {
  for (std::int64_t i = 0; i < channels; ++i) out[i] = winner[i] == kNone ? 0.f : out[i] * scale;
}

struct Shape {
  explicit Shape(torch::IntArrayRef sizes)
      : images(sizes[0]), channels(sizes[1]), height(sizes[2]), width(sizes[3]) {}
  std::int64_t images, channels, height, width;
  std::int64_t out_height() const { return height / 2; }
  std::int64_t out_width() const { return width / 2; }
  // Element at which the four pixels of output (row, column) lie; `row` counts over all images.
  std::int64_t corner(std::int64_t row, std::int64_t column) const {
    const std::int64_t image = row / out_height(), y = 2 * (row % out_height());
    return ((image * height + y) * width + 2 * column) * channels;
  }
};

template <class Bits>
void pool_forward(const Shape& shape, const Bits* in, Bits* out, std::uint8_t* winner, double drop,
                  std::uint64_t seed) {
  const std::int64_t c = shape.channels, columns = shape.out_width();
  const auto threshold = static_cast<std::uint32_t>(drop * 4294967296.0);
  const auto scale = static_cast<float>(1 / (1 - drop));
  at::parallel_for(0, shape.images * shape.out_height(), 4,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row) {
                       for (std::int64_t column = 0; column < columns; ++column) {
                         const Bits* a = in + shape.corner(row, column);
                         const std::int64_t to = (row * columns + column) * c;
                         pool_row({a, a + c, a + shape.width * c, a + shape.width * c + c},
                                  out + to, winner + to, c);
                         if (drop > 0) {
                           drop_row(winner + to, c, static_cast<std::uint32_t>(seed ^ (seed >> 32)),
                                    static_cast<std::uint32_t>(to), threshold);
                           mask_row(out + to, winner + to, c, scale);
                         }
                       }
                     }
                   });
}

template <class Bits>
void pool_backward(const Shape& shape, const Bits* gradient, const std::uint8_t* winner,
                   Bits* out) {
  const std::int64_t c = shape.channels, columns = shape.out_width();
  at::parallel_for(
      0, shape.images * shape.out_height(), 4, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          for (std::int64_t column = 0; column < columns; ++column) {
            Bits* a = out + shape.corner(row, column);
            Bits* const to[4] = {a, a + c, a + shape.width * c, a + shape.width * c + c};
            const std::int64_t from = (row * columns + column) * c;
            unpool_row(gradient + from, winner + from, to, c);
          }
        }
      });
}

struct PoolReluDrop : Function<PoolReluDrop> {
  static Tensor forward(AutogradContext* context, const Tensor& input, double drop,
                        std::int64_t seed) {
    const Tensor image = input.contiguous(at::MemoryFormat::ChannelsLast);
    const Shape shape(image.sizes());
    const std::vector<std::int64_t> size = {shape.images, shape.channels, shape.out_height(),
                                            shape.out_width()};
    const auto last = image.options().memory_format(at::MemoryFormat::ChannelsLast);
    Tensor output = torch::empty(size, last),
           winner = torch::empty(size, last.dtype(torch::kUInt8));
    const auto bits = static_cast<std::uint64_t>(seed);
    if (image.scalar_type() == torch::kBFloat16)
      pool_forward(shape, static_cast<const std::int16_t*>(image.data_ptr()),
                   static_cast<std::int16_t*>(output.data_ptr()), winner.data_ptr<std::uint8_t>(),
                   drop, bits);
    else
      pool_forward(shape, image.data_ptr<float>(), output.data_ptr<float>(),
                   winner.data_ptr<std::uint8_t>(), drop, bits);
    context->saved_data["drop"] = drop;
    context->saved_data["sizes"] = image.sizes();
    context->save_for_backward({winner});
    return output;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Tensor winner = context->get_saved_variables()[0];
    const double drop = context->saved_data["drop"].toDouble();
    const std::vector<std::int64_t> sizes = context->saved_data["sizes"].toIntVector();
    const Shape shape(sizes);
    Tensor gradient = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    if (drop > 0) gradient = gradient * (1 / (1 - drop));
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

}  // namespace tutti::models
