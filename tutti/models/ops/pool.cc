#include <torch/torch.h>

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

// What decides which channels of one output pixel are dropped: 32 bits that depend on its place and
// the seed, spread over the channels by 16-bit arithmetic, which fits the width of bf16.
struct Dice {
  Dice(std::uint64_t seed, std::int64_t place, std::uint32_t threshold_)
      : threshold(static_cast<std::uint16_t>(threshold_)) {
    std::uint64_t x = seed + static_cast<std::uint64_t>(place) * 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    add = static_cast<std::uint16_t>(x);
    times = static_cast<std::uint16_t>((x >> 16) | 1);
  }
  std::uint16_t add, times, threshold;  // dropped when the number is below `threshold`

  bool drops(std::int64_t channel) const {
    auto x = static_cast<std::uint16_t>(static_cast<std::uint16_t>(channel) * 0x9e37 + add);
    x = static_cast<std::uint16_t>((x ^ (x >> 7)) * times);
    x = static_cast<std::uint16_t>((x ^ (x >> 9)) * 0xb52d);
    return static_cast<std::uint16_t>(x ^ (x >> 8)) < threshold;
  }
};

// One output pixel. bf16 travels as int16: positive floats are ordered like their bits and negative
// ones have the sign bit, so max with 0 as integers is max with 0 as floats. The number of the
// winner is kept as wide as the values until the end, so that all lanes stay of one width.
template <class Bits>
struct Pixels {
  const Bits *a, *b, *c, *d;
};

template <bool kDrops, class Bits, class Code>
inline __attribute__((always_inline)) void pool_pixel(const Pixels<Bits>& in, Bits* __restrict out,
                                                      std::uint8_t* __restrict winner,
                                                      std::int64_t channels, const Dice& dice,
                                                      Code) {
  for (std::int64_t i = 0; i < channels; ++i) {
    Bits best = 0;
    Code code = kNone;
    code = in.a[i] > best ? Code(0) : code;
    best = in.a[i] > best ? in.a[i] : best;
    code = in.b[i] > best ? Code(1) : code;
    best = in.b[i] > best ? in.b[i] : best;
    code = in.c[i] > best ? Code(2) : code;
    best = in.c[i] > best ? in.c[i] : best;
    code = in.d[i] > best ? Code(3) : code;
    best = in.d[i] > best ? in.d[i] : best;
    if (kDrops) {
      const bool is_dropped = dice.drops(i);
      code = is_dropped ? Code(kNone) : code;
      best = is_dropped ? Bits(0) : best;
    }
    out[i] = best;
    winner[i] = static_cast<std::uint8_t>(code);
  }
}

template <class Bits, class Code>
inline __attribute__((always_inline)) void unpool_pixel(const Bits* __restrict gradient,
                                                        const std::uint8_t* __restrict winner,
                                                        Bits* __restrict a, Bits* __restrict b,
                                                        Bits* __restrict c, Bits* __restrict d,
                                                        std::int64_t channels, Code) {
  for (std::int64_t i = 0; i < channels; ++i) {
    const Code code = winner[i];
    const Bits g = gradient[i];
    a[i] = code == 0 ? g : Bits(0);
    b[i] = code == 1 ? g : Bits(0);
    c[i] = code == 2 ? g : Bits(0);
    d[i] = code == 3 ? g : Bits(0);
  }
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

template <class Bits, class Code>
inline __attribute__((always_inline)) void pool_row_of(const Shape& shape, const Bits* in,
                                                       Bits* out, std::uint8_t* winner,
                                                       std::int64_t row, std::uint64_t seed,
                                                       std::uint32_t threshold, Code code) {
  const std::int64_t c = shape.channels, columns = shape.out_width();
  for (std::int64_t column = 0; column < columns; ++column) {
    const Bits* a = in + shape.corner(row, column);
    const Pixels<Bits> pixels = {a, a + c, a + shape.width * c, a + shape.width * c + c};
    const std::int64_t place = row * columns + column, to = place * c;
    const Dice dice(seed, place, threshold);
    if (threshold > 0)
      pool_pixel<true>(pixels, out + to, winner + to, c, dice, code);
    else
      pool_pixel<false>(pixels, out + to, winner + to, c, dice, code);
  }
}

template <class Bits, class Code>
inline __attribute__((always_inline)) void unpool_row_of(const Shape& shape, const Bits* gradient,
                                                         const std::uint8_t* winner, Bits* out,
                                                         std::int64_t row, Code code) {
  const std::int64_t c = shape.channels, columns = shape.out_width();
  for (std::int64_t column = 0; column < columns; ++column) {
    Bits* a = out + shape.corner(row, column);
    const std::int64_t from = (row * columns + column) * c;
    unpool_pixel(gradient + from, winner + from, a, a + c, a + shape.width * c,
                 a + shape.width * c + c, c, code);
  }
}

// Compiled for several instruction sets; the right one is chosen when the program starts.
#define TUTTI_FOR_EVERY_PROCESSOR \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))

TUTTI_FOR_EVERY_PROCESSOR void pool_row(const Shape& shape, const std::int16_t* in,
                                        std::int16_t* out, std::uint8_t* winner, std::int64_t row,
                                        std::uint64_t seed, std::uint32_t threshold) {
  pool_row_of(shape, in, out, winner, row, seed, threshold, std::int16_t{});
}
TUTTI_FOR_EVERY_PROCESSOR void pool_row(const Shape& shape, const float* in, float* out,
                                        std::uint8_t* winner, std::int64_t row, std::uint64_t seed,
                                        std::uint32_t threshold) {
  pool_row_of(shape, in, out, winner, row, seed, threshold, std::int32_t{});
}
TUTTI_FOR_EVERY_PROCESSOR void unpool_row(const Shape& shape, const std::int16_t* gradient,
                                          const std::uint8_t* winner, std::int16_t* out,
                                          std::int64_t row) {
  unpool_row_of(shape, gradient, winner, out, row, std::int16_t{});
}
TUTTI_FOR_EVERY_PROCESSOR void unpool_row(const Shape& shape, const float* gradient,
                                          const std::uint8_t* winner, float* out,
                                          std::int64_t row) {
  unpool_row_of(shape, gradient, winner, out, row, std::int32_t{});
}

template <class Bits>
void pool_forward(const Shape& shape, const Bits* in, Bits* out, std::uint8_t* winner, double drop,
                  std::uint64_t seed) {
  const auto threshold = static_cast<std::uint32_t>(drop * 65536);
  at::parallel_for(0, shape.images * shape.out_height(), 4,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row)
                       pool_row(shape, in, out, winner, row, seed, threshold);
                   });
}

template <class Bits>
void pool_backward(const Shape& shape, const Bits* gradient, const std::uint8_t* winner,
                   Bits* out) {
  at::parallel_for(0, shape.images * shape.out_height(), 4,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row)
                       unpool_row(shape, gradient, winner, out, row);
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
    context->saved_data["sizes"] = image.sizes();
    context->save_for_backward({winner});
    return output;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Tensor winner = context->get_saved_variables()[0];
    const std::vector<std::int64_t> sizes = context->saved_data["sizes"].toIntVector();
    const Shape shape(sizes);
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

}  // namespace tutti::models
