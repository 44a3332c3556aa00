// Forward convolution on AMX as a matrix product without im2col.
//
// The rows of the input are copied into a band (concat_rows.h): consecutive rows separated by zero pixels. The output
// uses the same layout, so pixel p of the output band corresponds to pixel p of the input band. The pixels under one
// kernel row are then kernel * channels contiguous values, called a run. The left matrix has one row per output pixel;
// each row is a run that starts one pixel after the previous one, so tiles are loaded directly from the band and the
// matrix is never built. The right matrix holds the weights in the order of the run, zero-padded to full tiles. With
// dilation, the taps of a kernel row are not adjacent, and each tap is a separate run. With stride, the rows of the
// left matrix are `stride` pixels apart, and the output is computed one image row at a time.
//
// A tile of sums covers 16 pixels x 16 filters; four of them are accumulated at a time, over all runs. Sums that belong
// to the zero pixels between rows are discarded.
#include "tutti/kernels/amx/tile_conv.h"

#include <ATen/Parallel.h>
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tutti/kernels/amx/tiles.h"

namespace tutti::kernels {
namespace {

constexpr std::int64_t kSide = 16;   // pixels and filters per tile of sums
constexpr std::int64_t kDepth = 32;  // values of a run per tile
constexpr std::int64_t kTileValues = kSide * kDepth;

std::int64_t rounded_up(std::int64_t value, std::int64_t to) {
  return (value + to - 1) / to * to;
}

// Offset of a run relative to its output pixel, and its depth in tiles.
struct Run {
  std::int64_t row, pixel;
  std::int64_t tiles;
};

std::vector<Run> runs_of(const ConvShape& shape) {
  std::vector<Run> runs;
  const std::int64_t taps = shape.dilation == 1 ? shape.kernel : 1;
  for (std::int64_t y = 0; y < shape.kernel; ++y)
    for (std::int64_t x = 0; x < shape.kernel; x += taps)
      runs.push_back(
          {y * shape.dilation, x * shape.dilation, rounded_up(taps * shape.in, kDepth) / kDepth});
  return runs;
}

Bf16 rounded(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<Bf16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Packs the weights in the order in which they are multiplied: by filter tile, then run and depth.
LineVector<Bf16> packed(const ConvShape& shape, std::span<const Run> runs, const float* weights) {
  std::int64_t depth = 0;
  for (const Run& run : runs) depth += run.tiles;
  const std::int64_t filters = rounded_up(shape.out, kSide),
                     length = shape.kernel * shape.kernel * shape.in / std::ssize(runs);
  LineVector<Bf16> all(static_cast<std::size_t>(filters * depth * kDepth), Bf16{0});
  for (std::int64_t out = 0; out < shape.out; ++out) {
    Bf16* tile = all.data() + out / kSide * depth * kTileValues + out % kSide * 2;
    const float* run_weights = weights + out * std::ssize(runs) * length;
    for (const Run& run : runs) {
      for (std::int64_t i = 0; i < length; ++i)
        tile[i / 2 * 2 * kSide + i % 2] = rounded(run_weights[i]);
      tile += run.tiles * kTileValues;
      run_weights += length;
    }
  }
  return all;
}

// Parameters shared by all blocks of output pixels.
struct Line {
  const Bf16* const* runs;  // start of each run for the first pixel
  const std::int64_t* tiles;
  std::int64_t run_count;
  std::int64_t pixel;        // values between consecutive output pixels
  const Bf16* weights;       // weights of the first filter tile
  std::int64_t filter_tile;  // values between consecutive filter tiles
  const float* bias;
  bool has_relu;
  Bf16* out;
  std::int64_t width, out_pixel;  // pixels; values between consecutive pixels
};

// Only called on CPUs with AMX, which all support these instruction sets.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512bf16")

// Computes the sums of kWide pixel tiles x kFilters filter tiles, starting at pixel x and filter tile t. Tile registers
// 0 to 3 hold sums, 4 and 5 pixels, 6 and 7 weights.
template <int kWide, int kFilters>
void block(const Line& line, std::int64_t x, std::int64_t t, float* sums) {
  static_assert(kWide * kFilters <= 4 && kFilters <= 2);
  const float* bias = line.bias + t * kSide;
  auto each_sum = [&]<int... kSum>(std::integer_sequence<int, kSum...>, auto use) {
    (use.template operator()<kSum>(), ...);
  };
  constexpr auto kSums = std::make_integer_sequence<int, kWide * kFilters>();
  each_sum(kSums, [&]<int kSum>() { load_tile<kSum>(bias + kSum % kFilters * kSide, 0); });
  const Bf16* weights = line.weights + t * line.filter_tile;
  const std::int64_t pixel_bytes = line.pixel * std::int64_t{sizeof(Bf16)};
  for (std::int64_t run = 0; run < line.run_count; ++run) {
    const Bf16* values = line.runs[run] + x * line.pixel;
    for (std::int64_t tile = 0; tile < line.tiles[run]; ++tile) {
      load_tile<6>(weights, 64);
      if constexpr (kFilters == 2) load_tile<7>(weights + line.filter_tile, 64);
      auto pixels = [&]<int kPixels>() {
        if constexpr (kPixels < kWide) {
          load_tile<4 + kPixels % 2>(values + kPixels * kSide * line.pixel, pixel_bytes);
          multiply_tiles<kPixels * kFilters, 4 + kPixels % 2, 6>();
          if constexpr (kFilters == 2) multiply_tiles<kPixels * 2 + 1, 4 + kPixels % 2, 7>();
        }
      };
      pixels.template operator()<0>();
      pixels.template operator()<1>();
      pixels.template operator()<2>();
      pixels.template operator()<3>();
      values += kDepth;
      weights += kTileValues;
    }
  }
  each_sum(kSums, [&]<int kSum>() {
    store_tile<kSum>(sums + (kSum / kFilters * kSide * kFilters + kSum % kFilters) * kSide,
                     kFilters * 64);
  });
}

// Rounds the sums of a block to bf16 and stores them.
void finish_block(const Line& line, std::int64_t x, std::int64_t t, const float* sums,
                  std::int64_t pixels, std::int64_t filter_tiles) {
  const __m512 least = _mm512_set1_ps(line.has_relu ? 0.f : -__builtin_inff());
  for (std::int64_t i = 0; i < pixels; ++i)
    for (std::int64_t f = 0; f < filter_tiles; ++f) {
      const __m512 sum = _mm512_loadu_ps(sums + (i * filter_tiles + f) * kSide);
      // The sum is the second operand, so NaN propagates.
      const __m256bh small = _mm512_cvtneps_pbh(_mm512_max_ps(least, sum));
      std::memcpy(line.out + (x + i) * line.out_pixel + (t + f) * kSide, &small, sizeof small);
    }
}

template <int kWide, int kFilters>
void whole_block(const Line& line, std::int64_t x, std::int64_t t) {
  alignas(64) float sums[kWide * kFilters * kSide * kSide];
  block<kWide, kFilters>(line, x, t, sums);
  finish_block(line, x, t, sums, std::min(kWide * kSide, line.width - x), kFilters);
}

template <int kWide>
void all_filters(const Line& line, std::int64_t x, std::int64_t filter_tiles) {
  std::int64_t t = 0;
  for (; t + 2 <= filter_tiles; t += 2) whole_block<kWide, 2>(line, x, t);
  if (t < filter_tiles) whole_block<kWide, 1>(line, x, t);
}

// Processes few pixels at a time, so they stay in the L1 cache while all filters are applied.
void make_line(const Line& line, std::int64_t filter_tiles) {
  for (std::int64_t x = 0; x < line.width;) {
    const std::int64_t left = line.width - x;
    if (left > 3 * kSide && filter_tiles == 1) {
      whole_block<4, 1>(line, x, 0);
      x += 4 * kSide;
    } else if (left > kSide) {
      all_filters<2>(line, x, filter_tiles);
      x += 2 * kSide;
    } else {
      all_filters<1>(line, x, filter_tiles);
      x += kSide;
    }
  }
}

#pragma GCC pop_options

// Copies the channels of each pixel to the output slices.
void scatter_channels(const Bf16* pixels, std::int64_t pixel, std::int64_t width,
                      std::span<const Slice> slices, std::int64_t image, std::int64_t y) {
  for (const Slice& slice : slices) {
    if (slice.data)
      copy_pixels(pixels, pixel, slice.at(image, y), slice.pixel, slice.channels, width);
    pixels += slice.channels;
  }
}

// Number of output rows computed together, limited by the input rows that fit into the cache.
std::int64_t rows_at_once(const ConvShape& shape) {
  constexpr std::int64_t kCacheValues = 300'000;
  if (shape.stride > 1) return 1;
  const std::int64_t row = (shape.width + shape.reach()) * shape.in;
  return std::clamp<std::int64_t>(kCacheValues / row - 2 * shape.reach(), 1,
                                  shape.images * (shape.height + shape.reach()));
}

// Working memory of one thread. Without stride, the outputs form one tall image like the inputs. With stride there is
// no padding between images, and the output is computed row by row.
class Worker {
 public:
  Worker(const ConvShape& shape, const ConcatRows& input, std::span<const Run> runs,
         const LineVector<Bf16>& filters, const std::vector<float>& bias, bool has_relu)
      : shape_(shape),
        input_(input),
        rows_(rows_at_once(shape)),
        channels_(std::ssize(bias)),
        band_(input, rows_ + 2 * shape.reach(), shape.reach(), shape.in,
              shape.stride * kSide * shape.in + kDepth),  // tiles read beyond the last pixel
        outputs_(static_cast<std::size_t>(rows_ * band_.pitch() * channels_)) {
    for (const Run& run : runs) {
      starts_.push_back(band_.data() + (run.row * band_.pitch() + run.pixel) * shape.in);
      tiles_.push_back(run.tiles);
    }
    line_ = {starts_.data(),     tiles_.data(),
             std::ssize(tiles_), shape.stride * shape.in,
             filters.data(),     std::ssize(filters) / (channels_ / kSide),
             bias.data(),        has_relu,
             outputs_.data(),    0,
             channels_};
  }

  // Computes output rows of the tall image starting at `first`, at most rows_at_once.
  void make(std::int64_t first, std::span<const Slice> output) {
    const std::int64_t pitch = shape_.stride > 1 ? shape_.out_height() : input_.image_pitch(),
                       count = std::min(rows_, shape_.images * pitch - first),
                       above = first / pitch * input_.image_pitch() +
                               first % pitch * shape_.stride - shape_.reach();
    band_.read(above, count + 2 * shape_.reach());
    line_.width = (count - 1) * band_.pitch() + shape_.out_width();
    make_line(line_, channels_ / kSide);
    for (std::int64_t r = 0; r < count; ++r)
      if (const std::int64_t y = (first + r) % pitch; y < shape_.out_height())
        scatter_channels(outputs_.data() + r * band_.pitch() * channels_, channels_,
                         shape_.out_width(), output, (first + r) / pitch, y);
  }

 private:
  const ConvShape& shape_;
  const ConcatRows& input_;
  const std::int64_t rows_, channels_;
  Band band_;
  LineVector<Bf16> outputs_;
  std::vector<const Bf16*> starts_;
  std::vector<std::int64_t> tiles_;
  Line line_;
};

}  // namespace

void tile_conv(const ConvShape& shape, ConcatRows input, const float* weights, const float* bias,
               bool has_relu, std::span<const Slice> output) {
  input.between = shape.reach();
  const std::vector<Run> runs = runs_of(shape);
  const LineVector<Bf16> filters = packed(shape, runs, weights);
  std::vector<float> biases(static_cast<std::size_t>(rounded_up(shape.out, kSide)));
  if (bias) std::copy_n(bias, shape.out, biases.begin());
  const std::int64_t all = shape.stride > 1 ? shape.images * shape.out_height() : input.rows(),
                     rows = rows_at_once(shape), bands = (all + rows - 1) / rows;
  at::parallel_for(0, bands, 1, [&](std::int64_t begin, std::int64_t end) {
    const TileScope tile_scope;
    Worker worker(shape, input, runs, filters, biases, has_relu);
    for (std::int64_t band = begin; band < end; ++band) worker.make(band * rows, output);
  });
}

}  // namespace tutti::kernels
