// Gradient of the weights on AMX.
//
// The gradient for kernel position (y, x), filter o and channel i is the sum over all pixels of the input at channel i
// times the output gradient at filter o, shifted by the kernel position. It is a matrix product whose inner dimension
// is the pixels. The left matrix is the output gradient with one row per filter; a row can start at any pixel, which
// implements the shift without a copy. The right matrix is the input with pixels interleaved in pairs.
//
// One band of rows at a time is converted to these layouts, as much as fits into the cache. All kernel positions,
// filters and channels are then processed in squares of two by two tiles. Each thread has separate sums, which are
// added in a fixed order at the end.
#include <ATen/Parallel.h>

#include <algorithm>

#include "tutti/kernels/amx/tile_conv.h"
#include "tutti/kernels/amx/tiles.h"

namespace tutti::kernels {
namespace {

constexpr std::int64_t kSide = 16, kDepth = 32;

std::int64_t rounded_up(std::int64_t value, std::int64_t to) {
  return (value + to - 1) / to * to;
}

struct Square {
  const Bf16 *left[2], *right[2];
  float* sums[4];
};

// Adds the products of two left and two right matrices, `depth` tiles deep. Tile registers 0 to 3 hold sums, 4 and 5
// left, 6 and 7 right. `length`: values between consecutive filters; `in`: channels.
void add_square(const Square& square, std::int64_t depth, std::int64_t length, std::int64_t in) {
  const std::int64_t left_bytes = 2 * length, sums_bytes = 4 * in;
  load_tile<0>(square.sums[0], sums_bytes);
  load_tile<1>(square.sums[1], sums_bytes);
  load_tile<2>(square.sums[2], sums_bytes);
  load_tile<3>(square.sums[3], sums_bytes);
  for (std::int64_t d = 0; d < depth; ++d) {
    const std::int64_t left = d * kDepth, right = d * kDepth * kSide;
    load_tile<6>(square.right[0] + right, 64);
    load_tile<4>(square.left[0] + left, left_bytes);
    multiply_tiles<0, 4, 6>();
    load_tile<7>(square.right[1] + right, 64);
    multiply_tiles<1, 4, 7>();
    load_tile<5>(square.left[1] + left, left_bytes);
    multiply_tiles<2, 5, 6>();
    multiply_tiles<3, 5, 7>();
  }
  store_tile<0>(square.sums[0], sums_bytes);
  store_tile<1>(square.sums[1], sums_bytes);
  store_tile<2>(square.sums[2], sums_bytes);
  store_tile<3>(square.sums[3], sums_bytes);
}

// Only called on CPUs with AMX, which all support these instruction sets.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512bf16")

void add_up(const Bf16* row, std::int64_t width, std::int64_t channels, float* sums) {
  for (std::int64_t x = 0; x < width; ++x)
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::uint32_t bits = std::uint32_t{row[x * channels + c]} << 16;
      float value;
      __builtin_memcpy(&value, &bits, sizeof value);
      sums[c] += value;
    }
}

#pragma GCC pop_options

std::int64_t rows_at_once(const ConvShape& shape) {
  constexpr std::int64_t kCacheValues = 300'000;
  const std::int64_t row = (shape.width + shape.reach()) * (shape.in + shape.out);
  return std::clamp<std::int64_t>(kCacheValues / row, 1,
                                  shape.images * (shape.height + shape.reach()));
}

// Sums and working memory of one thread.
class Worker {
 public:
  Worker(const ConvShape& shape, const ConcatRows& input, const ConcatRows& gradient)
      : shape_(shape),
        reach_(shape.reach()),
        in_(rounded_up(shape.in, kSide)),
        out_(rounded_up(shape.out, kSide)),
        rows_(rows_at_once(shape)),
        input_(input, rows_, reach_, in_, kDepth * in_),
        gradient_(gradient, rows_ + 2 * reach_, reach_, out_, (kDepth + reach_) * out_),
        input_pixels_(rounded_up(reach_ + rows_ * input_.pitch(), kDepth)),
        gradient_pixels_(rounded_up(reach_ + (rows_ + 2 * reach_) * gradient_.pitch(), kDepth)),
        // Space for a shift by up to `reach_` to the left, and for the depth of the input to the right.
        length_(gradient_pixels_ + 2 * reach_ + kDepth),
        paired_input_(std::size_t(input_pixels_ * in_)),
        paired_gradient_(std::size_t(gradient_pixels_ * out_)),
        transposed_(std::size_t(out_ * length_)),
        unused_(kSide * std::size_t(in_)) {
    sums.out = out_;
    sums.in = in_;
    sums.weights.resize(std::size_t(shape.kernel * shape.kernel * out_ * in_), 0.f);
    sums.bias.resize(std::size_t(out_), 0.f);
    clear_ends();
  }

  // Adds rows of the tall image starting at `first`, at most rows_at_once.
  void add(std::int64_t first, std::int64_t all) {
    const std::int64_t count = std::min(rows_, all - first), used = reach_ + count * input_.pitch(),
                       pixels = rounded_up(used, kDepth);
    input_.read(first, count);
    gradient_.read(first - reach_, count + 2 * reach_);
    for (std::int64_t r = 0; r < count; ++r)
      add_up(gradient_.row(r + reach_), shape_.width, out_, sums.bias.data());
    pair_pixels(input_.data(), paired_input_.data(), pixels, in_, input_pixels_ * kSide);
    clear(used, pixels);
    pair_pixels(gradient_.data(), paired_gradient_.data(), gradient_pixels_, out_,
                gradient_pixels_ * kSide);
    transpose_pairs(paired_gradient_.data(), transposed_.data() + reach_, gradient_pixels_, out_,
                    gradient_pixels_ * kSide, length_);
    multiply(pixels / kDepth);
  }

  WeightGradient sums;

 private:
  // Values before and after the gradient are multiplied only by zeros of the input, but must be finite.
  void clear_ends() {
    for (std::int64_t filter = 0; filter < out_; ++filter) {
      Bf16* row = transposed_.data() + filter * length_;
      std::fill_n(row, reach_, Bf16{0});
      std::fill(row + reach_ + gradient_pixels_, row + length_, Bf16{0});
    }
    std::fill(unused_.begin(), unused_.end(), 0.f);
  }

  // The last band may have fewer rows than the previous one, whose values are still stored after them.
  void clear(std::int64_t first, std::int64_t end) {
    for (std::int64_t pixel = first; pixel < end; ++pixel)
      for (std::int64_t c = 0; c < in_; ++c)
        paired_input_[std::size_t(c / kSide * input_pixels_ * kSide + pixel / 2 * kDepth +
                                  c % kSide * 2 + pixel % 2)] = 0;
  }

  // Two tiles of the input, of a depth that stays in the L1 cache, are multiplied with the whole gradient.
  void multiply(std::int64_t depth) {
    constexpr std::int64_t kDeep = 16;
    for (std::int64_t b = 0; b < in_ / kSide; b += 2)
      for (std::int64_t d = 0; d < depth; d += kDeep)
        for (std::int64_t a = 0; a < lefts(); a += 2)
          multiply_square(a, b, d, std::min(kDeep, depth - d));
  }

  void multiply_square(std::int64_t a, std::int64_t b, std::int64_t first, std::int64_t depth) {
    const std::int64_t a1 = std::min(a + 1, lefts() - 1), b1 = std::min(b + 1, in_ / kSide - 1);
    Square square{{left_at(a, first), left_at(a1, first)},
                  {right_at(b, first), right_at(b1, first)},
                  {sums_at(a, b), sums_at(a, b1), sums_at(a1, b), sums_at(a1, b1)}};
    if (b1 == b) square.sums[1] = square.sums[3] = unused_.data();
    if (a1 == a) square.sums[2] = square.sums[3] = unused_.data();
    add_square(square, depth, length_, in_);
  }

  // Left matrices are numbered by kernel row, filter tile, then position in the kernel row, so consecutive ones read
  // the same cache lines.
  std::int64_t lefts() const { return shape_.kernel * shape_.kernel * (out_ / kSide); }
  struct Tap {
    std::int64_t y, filter, x;
  };
  Tap tap_of(std::int64_t a) const {
    const std::int64_t tiles = out_ / kSide, row = a / shape_.kernel;
    return {row / tiles, row % tiles * kSide, a % shape_.kernel};
  }
  // At kernel position (y, x), pixel (r, c) of the input is multiplied with gradient (r - y * dilation + reach, c - x *
  // dilation + reach). The band of the gradient begins `reach` rows above; transposed_ begins `reach` values before it.
  const Bf16* left_at(std::int64_t a, std::int64_t depth) const {
    const Tap tap = tap_of(a);
    return transposed_.data() + tap.filter * length_ +
           (2 * reach_ - tap.y * shape_.dilation) * gradient_.pitch() + 2 * reach_ -
           tap.x * shape_.dilation + depth * kDepth;
  }
  const Bf16* right_at(std::int64_t b, std::int64_t depth) const {
    return paired_input_.data() + (b * input_pixels_ + depth * kDepth) * kSide;
  }
  float* sums_at(std::int64_t a, std::int64_t b) {
    const Tap tap = tap_of(a);
    return sums.weights.data() + ((tap.y * shape_.kernel + tap.x) * out_ + tap.filter) * in_ +
           b * kSide;
  }

  const ConvShape& shape_;
  const std::int64_t reach_, in_, out_, rows_;
  Band input_, gradient_;
  const std::int64_t input_pixels_, gradient_pixels_, length_;
  LineVector<Bf16> paired_input_, paired_gradient_, transposed_;
  LineVector<float> unused_;
};

void add_to(LineVector<float>& all, const LineVector<float>& part) {
  for (std::size_t i = 0; i < all.size(); ++i) all[i] += part[i];
}

}  // namespace

WeightGradient tile_weight_gradient(const ConvShape& shape, ConcatRows input, ConcatRows gradient) {
  input.between = gradient.between = shape.reach();
  const std::int64_t rows = rows_at_once(shape), bands = (input.rows() + rows - 1) / rows;
  // One per thread, added in order: the result is bitwise reproducible for a given number of threads.
  std::vector<WeightGradient> parts(static_cast<std::size_t>(at::get_num_threads()));
  at::parallel_for(0, bands, 1, [&](std::int64_t begin, std::int64_t end) {
    Worker worker(shape, input, gradient);
    const TileScope tile_scope;
    for (std::int64_t band = begin; band < end; ++band) worker.add(band * rows, input.rows());
    parts[static_cast<std::size_t>(at::get_thread_num())] = std::move(worker.sums);
  });
  WeightGradient all = std::move(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (!parts[i].bias.empty()) {
      add_to(all.weights, parts[i].weights);
      add_to(all.bias, parts[i].bias);
    }
  return all;
}

}  // namespace tutti::kernels
