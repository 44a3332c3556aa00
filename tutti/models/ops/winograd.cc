#include "tutti/models/ops/winograd.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "tutti/models/ops/joined_rows.h"
#include "tutti/models/ops/winograd_kernels.h"

namespace tutti::models {
namespace {

// Tiles that are transformed and multiplied together: with 128 channels their matrices and the
// weights stay in the caches that are near.
constexpr std::int64_t kBlock = 48;
// A part of a block that one thread transforms: so many whatever the number of threads.
constexpr std::int64_t kPart = 12, kParts = kBlock / kPart;

struct Tile {
  std::int64_t picture, y, x;  // of its first pixel
};

class TileGrid {
 public:
  explicit TileGrid(const PictureShape& shape)
      : shape_(shape),
        rows_((shape.height + kTileOut - 1) / kTileOut),
        columns_((shape.width + kTileOut - 1) / kTileOut) {}
  const PictureShape& shape() const { return shape_; }
  std::int64_t count() const { return shape_.pictures * rows_ * columns_; }
  std::int64_t blocks() const { return (count() + kBlock - 1) / kBlock; }
  Tile tile(std::int64_t i) const {
    return {i / columns_ / rows_, i / columns_ % rows_ * kTileOut, i % columns_ * kTileOut};
  }

  // Calls visit(i, pixel of the slice) for `side` x `side` pixels that begin `before` pixels before
  // the tile; null where the picture has none.
  template <class Visit>
  void each_pixel(const FloatSlice& slice, const Tile& tile, int side, int before,
                  Visit visit) const {
    for (int i = 0; i < side * side; ++i) {
      const std::int64_t y = tile.y - before + i / side, x = tile.x - before + i % side;
      const bool is_inside = y >= 0 && y < shape_.height && x >= 0 && x < shape_.width;
      visit(i, is_inside
                   ? slice.data + tile.picture * slice.picture + y * slice.row + x * slice.pixel
                   : nullptr);
    }
  }

 private:
  PictureShape shape_;
  std::int64_t rows_, columns_;
};

// The 36 matrices of a block of tiles. An odd number of cache lines lies between rows and between
// matrices, so that what is read together does not meet in one place of the cache.
class BlockMatrix {
 public:
  explicit BlockMatrix(std::int64_t channels)
      : row_(odd_lines(channels + kPanel)),
        position_(odd_lines(kBlock * row_)),
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

// Reads tiles of pictures, with zeros around.
class TileReader {
 public:
  explicit TileReader(const WinogradInput& input) : input_(input), grid_(input.shape) {
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
    if (input_.sign.data) point(input_.sign, tile, kSide, before, signs);
    std::int64_t channel = 0;
    for (const FloatSlice& slice : input_.slices) {
      point(slice, tile, kSide, before, values);
      visit(TilePixels{values, input_.sign.data ? signs : nullptr, slice.channels}, channel);
      channel += slice.channels;
    }
  }

 private:
  void point(const FloatSlice& slice, const Tile& tile, int side, int before,
             const float** to) const {
    grid_.each_pixel(slice, tile, side, before,
                     [&](int i, const float* pixel) { to[i] = pixel ? pixel : zeros_.data(); });
  }
  const WinogradInput& input_;
  TileGrid grid_;
  std::vector<float> zeros_;
};

void write_tile(const TileGrid& grid, std::int64_t index, BlockMatrix& products, std::int64_t row,
                const float* bias, bool has_relu, std::span<const FloatSlice> output) {
  float* pixels[kTileOut * kTileOut];
  std::int64_t channel = 0;
  for (const FloatSlice& slice : output) {
    if (slice.data) {
      grid.each_pixel(slice, grid.tile(index), kTileOut, 0,
                      [&](int i, float* pixel) { pixels[i] = pixel; });
      transform_output(products.at(row, channel), slice.channels, bias ? bias + channel : nullptr,
                       has_relu, pixels);
    }
    channel += slice.channels;
  }
}

std::int64_t sum_of(std::span<const FloatSlice> slices) {
  std::int64_t sum = 0;
  for (const FloatSlice& slice : slices) sum += slice.channels;
  return sum;
}

}  // namespace

std::int64_t WinogradInput::channels() const {
  return sum_of(slices);
}

void winograd_conv(const WinogradInput& input, const float* weights, const float* bias,
                   bool has_relu, std::span<const FloatSlice> output) {
  const std::int64_t in = input.channels(), out = sum_of(output), size = in * whole_panels(out);
  LineVector<float> transformed(static_cast<std::size_t>(kPositions * size));
  transform_weights(weights, in, out, transformed.data());
  const TileReader reader(input);
  const TileGrid& grid = reader.grid();
  at::parallel_for(0, grid.blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
    BlockMatrix tiles(in), products(out);
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kBlock, count = std::min(kBlock, grid.count() - first);
      for (std::int64_t i = 0; i < count; ++i)
        reader.read<kTileIn>(first + i, 1, [&](const TilePixels& pixels, std::int64_t channel) {
          transform_input(pixels, tiles.at(i, channel));
        });
      for (int p = 0; p < kPositions; ++p)
        multiply_rows({tiles.position(p), count, tiles.row(), in}, transformed.data() + p * size,
                      nullptr, products.position(p), products.row(), out);
      for (std::int64_t i = 0; i < count; ++i)
        write_tile(grid, first + i, products, i, bias, has_relu, output);
    }
  });
}

void winograd_weight_gradient(const WinogradInput& input, const WinogradInput& gradient,
                              float* weights, float* bias) {
  const std::int64_t in = input.channels(), out = gradient.channels(), wide = whole_panels(out),
                     size = in * wide;
  BlockMatrix tiles(in), gradients(out);
  std::vector<float> sums(static_cast<std::size_t>(kPositions * size), 0),
      parts(static_cast<std::size_t>(kParts * wide), 0);
  const TileReader reader(input), gradient_reader(gradient);
  const TileGrid& grid = reader.grid();
  for (std::int64_t first = 0; first < grid.count(); first += kBlock) {
    const std::int64_t count = std::min(kBlock, grid.count() - first);
    at::parallel_for(0, kParts, 1, [&](std::int64_t begin, std::int64_t end) {
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
        add_turned_product({tiles.position(p), count, tiles.row(), in}, gradients.position(p),
                           gradients.row(), sums.data() + p * size, out);
    });
  }
  transform_weight_gradient(sums.data(), in, out, weights);
  for (std::int64_t c = 0; c < out; ++c) {
    bias[c] = 0;
    for (std::int64_t part = 0; part < kParts; ++part)
      bias[c] += parts[static_cast<std::size_t>(part * wide + c)];
  }
}

}  // namespace tutti::models
