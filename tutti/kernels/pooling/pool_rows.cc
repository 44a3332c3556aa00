#include "tutti/kernels/pooling/pool_rows.h"

#include <type_traits>

namespace tutti::kernels {
namespace {

// Value of `winner` if no input was selected: the maximum was not positive, or the output was dropped. Otherwise
// `winner` is the index (0 to 3) of the largest input.
constexpr std::uint8_t kNone = 4;

// Random numbers that decide which channels of an output pixel are dropped: 32 bits derived from the pixel index and
// the seed, expanded over the channels with 16-bit arithmetic, which matches the width of bf16. For 32-bit values the
// arithmetic is masked, because compilers do not vectorise mixed widths.
struct Dice {
  Dice(std::uint64_t seed, std::int64_t position, std::uint32_t threshold_)
      : threshold(static_cast<std::uint16_t>(threshold_)) {
    std::uint64_t x = seed + static_cast<std::uint64_t>(position) * 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    add = static_cast<std::uint16_t>(x);
    times = static_cast<std::uint16_t>((x >> 16) | 1);
  }
  std::uint16_t add, times, threshold;  // dropped if the number is below `threshold`

  template <class Code>
  bool drops(std::int64_t channel) const {
    using Lane = std::make_unsigned_t<Code>;
    constexpr Lane kMask = 0xffff;
    auto x = static_cast<Lane>((static_cast<Lane>(channel) * Lane{0x9e37} + add) & kMask);
    x = static_cast<Lane>(((x ^ (x >> 7)) * Lane{times}) & kMask);
    x = static_cast<Lane>(((x ^ (x >> 9)) * Lane{0xb52d}) & kMask);
    return static_cast<Lane>(x ^ (x >> 8)) < Lane{threshold};
  }
};

// One output pixel. Values are handled as bit patterns: positive floats order like integers and negative ones have the
// sign bit set, so an integer max with 0 equals a float max with 0. The index of the winner is kept at the width of the
// values until the end, so all lanes have the same width.
using FloatBits = std::int32_t __attribute__((may_alias));

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
      const bool is_dropped = dice.drops<Code>(i);
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

template <class Bits, class Code>
inline __attribute__((always_inline)) void pool_row_of(const Bits* top, const Bits* bottom,
                                                       Bits* out, std::uint8_t* winner,
                                                       std::int64_t columns, std::int64_t channels,
                                                       std::int64_t position, const DropRule& rule,
                                                       Code code) {
  for (std::int64_t column = 0; column < columns; ++column) {
    const std::int64_t from = 2 * column * channels, to = column * channels;
    const Pixels<Bits> pixels = {top + from, top + from + channels, bottom + from,
                                 bottom + from + channels};
    const Dice dice(rule.seed, position + column, rule.threshold);
    if (rule.threshold > 0)
      pool_pixel<true>(pixels, out + to, winner + to, channels, dice, code);
    else
      pool_pixel<false>(pixels, out + to, winner + to, channels, dice, code);
  }
}

template <class Bits, class Code>
inline __attribute__((always_inline)) void unpool_row_of(const Bits* gradient,
                                                         const std::uint8_t* winner, Bits* top,
                                                         Bits* bottom, std::int64_t columns,
                                                         std::int64_t channels, Code code) {
  for (std::int64_t column = 0; column < columns; ++column) {
    const std::int64_t to = 2 * column * channels, from = column * channels;
    unpool_pixel(gradient + from, winner + from, top + to, top + to + channels, bottom + to,
                 bottom + to + channels, channels, code);
  }
}

}  // namespace

// Compiled for several instruction sets; the dynamic loader selects one at program start.
#define TUTTI_FOR_EVERY_PROCESSOR \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))

TUTTI_FOR_EVERY_PROCESSOR void pool_row(const std::int16_t* top, const std::int16_t* bottom,
                                        std::int16_t* out, std::uint8_t* winner,
                                        std::int64_t columns, std::int64_t channels,
                                        std::int64_t position, const DropRule& rule) {
  pool_row_of(top, bottom, out, winner, columns, channels, position, rule, std::int16_t{});
}
TUTTI_FOR_EVERY_PROCESSOR void pool_row(const float* top, const float* bottom, float* out,
                                        std::uint8_t* winner, std::int64_t columns,
                                        std::int64_t channels, std::int64_t position,
                                        const DropRule& rule) {
  pool_row_of(reinterpret_cast<const FloatBits*>(top), reinterpret_cast<const FloatBits*>(bottom),
              reinterpret_cast<FloatBits*>(out), winner, columns, channels, position, rule,
              std::int32_t{});
}
TUTTI_FOR_EVERY_PROCESSOR void unpool_row(const std::int16_t* gradient, const std::uint8_t* winner,
                                          std::int16_t* top, std::int16_t* bottom,
                                          std::int64_t columns, std::int64_t channels) {
  unpool_row_of(gradient, winner, top, bottom, columns, channels, std::int16_t{});
}
TUTTI_FOR_EVERY_PROCESSOR void unpool_row(const float* gradient, const std::uint8_t* winner,
                                          float* top, float* bottom, std::int64_t columns,
                                          std::int64_t channels) {
  unpool_row_of(reinterpret_cast<const FloatBits*>(gradient), winner,
                reinterpret_cast<FloatBits*>(top), reinterpret_cast<FloatBits*>(bottom), columns,
                channels, std::int32_t{});
}

}  // namespace tutti::kernels
