#include "tutti/kernels/winograd/winograd.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "tutti/kernels/amx/concat_rows.h"
#include "tutti/kernels/winograd/winograd_kernels.h"

// Winograd convolution F(4x4, 3x3) (Lavin and Gray 2016).
//
// The image is divided into tiles of 4x4 output pixels. For an input tile d of 6x6 pixels and a 3x3 kernel g, the
// output tile is A' [(G g G') o (B' d B)] A, where o is the element-wise product and ' the transpose. Summed over input
// channels, the element-wise product is one matrix product (tiles x in) * (in x out) for each of the 36 positions. A
// tile needs 36 multiplications per pair of channels instead of 144.
//
// Forward pass: the weights are transformed once. Threads take blocks of tiles; for each block a thread transforms the
// inputs, computes the 36 products and transforms the results to pixels. The matrices of a block stay in the L2 cache.
// Gradient of the input: a forward pass with the flipped kernel and swapped channels, called by conv2d.
// Gradient of the weights: for each block, inputs and output gradients are transformed, and the 36 products
// transpose(inputs) * gradients are accumulated; the sums are transformed back at the end. Blocks are processed in
// order and threads share positions, so the order of additions does not depend on the number of threads.
namespace tutti::kernels {
namespace {

// Number of tiles that one thread transforms at a time; independent of the number of threads.
constexpr std::int64_t kPart = 12;

// Number of tiles transformed and multiplied together, so their matrices stay in the L2 cache. If not even the weights
// fit, larger blocks reuse them more often.
std::int64_t block_of(std::int64_t in, std::int64_t out) {
  constexpr std::int64_t kNear = 256 << 10, kMost = 4 * kPart;
  constexpr auto kBytes = static_cast<std::int64_t>(kPositions * sizeof(float));
  const std::int64_t weights = kBytes * in * whole_panels(out);
  if (weights > kNear + kNear / 4) return weights > 4 * kNear ? kMost : kMost / 2;
  return std::clamp(kNear / (kBytes * (in + out)) / kPart * kPart, kPart, kMost);
}

struct Tile {
  std::int64_t image, y, x;  // image, and coordinates of the first pixel
};

class TileGrid {
 public:
  explicit TileGrid(const ImageShape& shape)
      : shape_(shape),
        rows_((shape.height + kTileOut - 1) / kTileOut),
        columns_((shape.width + kTileOut - 1) / kTileOut) {}
  const ImageShape& shape() const { return shape_; }
  std::int64_t count() const { return shape_.images * rows_ * columns_; }
  Tile tile(std::int64_t i) const {
    return {i / columns_ / rows_, i / columns_ % rows_ * kTileOut, i % columns_ * kTileOut};
  }

  // Calls visit(i, pixel of the slice) for kSide x kSide pixels that start `before` pixels above and to the left of the
  // tile; null for pixels outside the image.
  template <int kSide, class Visit>
  void each_pixel(const FloatSlice& slice, const Tile& tile, int before, Visit visit) const {
    const std::int64_t top = tile.y - before, left = tile.x - before;
    float* first = slice.at(tile.image, top, left);
    const bool is_whole =
        top >= 0 && left >= 0 && top + kSide <= shape_.height && left + kSide <= shape_.width;
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) {
        const bool is_inside = is_whole || (top + y >= 0 && top + y < shape_.height &&
                                            left + x >= 0 && left + x < shape_.width);
        visit(y * kSide + x, is_inside ? first + y * slice.row + x * slice.pixel : nullptr);
      }
  }

 private:
  ImageShape shape_;
  std::int64_t rows_, columns_;
};

// The 36 matrices of a block of tiles. The strides of rows and matrices are odd numbers of cache lines, so values that
// are read together do not map to the same cache set.
class BlockMatrix {
 public:
  BlockMatrix(std::int64_t tiles, std::int64_t channels)
      : row_(odd_lines(channels + kPanel)),
        position_(odd_lines(tiles * row_)),
        values_(static_cast<std::size_t>(kPositions * position_)) {}
  TileMatrix at(std::int64_t tile, std::int64_t channel = 0) {
    return {values_.data() + tile * row_ + channel, row_, position_};
  }
  std::int64_t row() const { return row_; }
  float* position(std::int64_t i) { return values_.data() + i * position_; }

 private:
  static std::int64_t odd_lines(std::int64_t values) { return ((values + 15) / 16 | 1) * 16; }
  std::int64_t row_, position_;
  LineVector<float> values_;
};

// Reads tiles of images with zero padding.
class TileReader {
 public:
  explicit TileReader(const ConcatImages& input) : input_(input), grid_(input.shape) {
    std::int64_t most = 0;
    for (const FloatSlice& slice : input.slices) most = std::max(most, slice.channels);
    zeros_.assign(static_cast<std::size_t>(most), 0);
  }
  const TileGrid& grid() const { return grid_; }

  // Calls visit(pixels, first channel) for each slice of a tile.
  template <int kSide, class Visit>
  void read(std::int64_t index, int before, Visit visit) const {
    const Tile tile = grid_.tile(index);
    const float *values[kSide * kSide], *signs[kSide * kSide];
    if (input_.sign.data) point<kSide>(input_.sign, tile, before, signs);
    std::int64_t channel = 0;
    for (const FloatSlice& slice : input_.slices) {
      point<kSide>(slice, tile, before, values);
      visit(TilePixels{values, input_.sign.data ? signs : nullptr, slice.channels}, channel);
      channel += slice.channels;
    }
  }

 private:
  template <int kSide>
  void point(const FloatSlice& slice, const Tile& tile, int before, const float** to) const {
    grid_.each_pixel<kSide>(slice, tile, before, [&](int i, const float* pixel) {
      to[i] = pixel ? pixel : zeros_.data();
    });
  }
  const ConcatImages& input_;
  TileGrid grid_;
  std::vector<float> zeros_;
};

// Pixels of one tile of a result, row by row.
class ResultPixels {
 public:
  ResultPixels(const TileGrid& grid, const Tile& tile, const FloatSlice& slice)
      : is_there_(slice.data != nullptr) {
    if (is_there_)
      grid.each_pixel<kTileOut>(slice, tile, 0, [&](int i, float* pixel) { pixels_[i] = pixel; });
  }
  float* const* get() const { return is_there_ ? pixels_ : nullptr; }

 private:
  bool is_there_;
  float* pixels_[kTileOut * kTileOut];
};

void write_tile(const TileGrid& grid, const Tile& tile, BlockMatrix& products, std::int64_t row,
                const float* bias, std::span<const ResultSlice> output) {
  std::int64_t channel = 0;
  for (const ResultSlice& slice : output) {
    if (slice.to.data) {
      const ResultPixels to(grid, tile, slice.to), add(grid, tile, slice.add),
          sign(grid, tile, slice.sign);
      transform_output(products.at(row, channel), bias ? bias + channel : nullptr,
                       {to.get(), add.get(), sign.get(), slice.to.channels, slice.has_relu});
    }
    channel += slice.to.channels;
  }
}

std::int64_t channels_of(std::span<const ResultSlice> slices) {
  std::int64_t sum = 0;
  for (const ResultSlice& slice : slices) sum += slice.to.channels;
  return sum;
}

}  // namespace

void winograd_conv(const ConcatImages& input, const float* weights, const float* bias,
                   std::span<const ResultSlice> output) {
  const std::int64_t in = input.channels(), out = channels_of(output),
                     size = in * whole_panels(out);
  LineVector<float> transformed(static_cast<std::size_t>(kPositions * size));
  transform_weights(weights, in, out, transformed.data());
  const TileReader reader(input);
  const TileGrid& grid = reader.grid();
  const std::int64_t most = block_of(in, out), blocks = (grid.count() + most - 1) / most;
  at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    BlockMatrix tiles(most, in), products(most, out);
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * most, count = std::min(most, grid.count() - first);
      for (std::int64_t i = 0; i < count; ++i)
        reader.read<kTileIn>(first + i, 1, [&](const TilePixels& pixels, std::int64_t channel) {
          transform_input(pixels, tiles.at(i, channel));
        });
      for (int p = 0; p < kPositions; ++p)
        multiply_rows({tiles.position(p), count, tiles.row(), in}, transformed.data() + p * size,
                      nullptr, products.position(p), products.row(), out);
      for (std::int64_t i = 0; i < count; ++i)
        write_tile(grid, grid.tile(first + i), products, i, bias, output);
    }
  });
}

void winograd_weight_gradient(const ConcatImages& input, const ConcatImages& gradient,
                              float* weights, float* bias) {
  const std::int64_t in = input.channels(), out = gradient.channels(), wide = whole_panels(out),
                     size = in * wide, block = block_of(in, out), part_count = block / kPart;
  BlockMatrix tiles(block, in), gradients(block, out);
  std::vector<float> sums(static_cast<std::size_t>(kPositions * size), 0),
      parts(static_cast<std::size_t>(part_count * wide), 0);
  const TileReader reader(input), gradient_reader(gradient);
  const TileGrid& grid = reader.grid();
  for (std::int64_t first = 0; first < grid.count(); first += block) {
    const std::int64_t count = std::min(block, grid.count() - first);
    at::parallel_for(0, part_count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * kPart; i < std::min(end * kPart, count); ++i) {
        reader.read<kTileIn>(first + i, 1, [&](const TilePixels& pixels, std::int64_t channel) {
          transform_input(pixels, tiles.at(i, channel));
        });
        gradient_reader.read<kTileOut>(
            first + i, 0, [&](const TilePixels& pixels, std::int64_t channel) {
              transform_gradient(pixels, gradients.at(i, channel),
                                 parts.data() + i / kPart * wide + channel);
            });
      }
    });
    at::parallel_for(0, kPositions, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p)
        add_transposed_product({tiles.position(p), count, tiles.row(), in}, gradients.position(p),
                               gradients.row(), sums.data() + p * size, out);
    });
  }
  transform_weight_gradient(sums.data(), in, out, weights);
  for (std::int64_t c = 0; c < out; ++c) {
    bias[c] = 0;
    for (std::int64_t part = 0; part < part_count; ++part)
      bias[c] += parts[static_cast<std::size_t>(part * wide + c)];
  }
}

}  // namespace tutti::kernels
