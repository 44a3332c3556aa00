// The loops of winograd.cc, without libtorch. A tile is 4x4 pixels of the output, made from 6x6 of
// the input; both are transformed to 36 positions, at each of which the convolution is a product of
// matrices. Everything goes over channels, which lie beside each other.
#pragma once

#include <cstdint>

#include "tutti/kernels/winograd/panel_products.h"

namespace tutti::kernels {

constexpr int kTileIn = 6, kTileOut = 4, kPositions = kTileIn * kTileIn;

// For each position a matrix with a row for every tile. Rows are longer than their channels by at
// least kPanel values, so that who writes whole registers does no harm.
struct TileMatrix {
  float* values = nullptr;
  std::int64_t row = 0, position = 0;  // so many values apart
};

// Pixels of one tile, row by row. Where `signs`, pixels of another picture, are not positive, zeros
// are read; null: everything is read.
struct TilePixels {
  const float* const* values = nullptr;
  const float* const* signs = nullptr;
  std::int64_t channels = 0;
};

// 4x4 pixels of a result, row by row; null are those outside of the picture. Pixels of `add`, which
// may be the same, are added; then it is max(0, x) if so wished; then zero where `signs` are not
// positive. Null: nothing of the kind.
struct TileResult {
  float* const* values = nullptr;
  float* const* add = nullptr;
  float* const* signs = nullptr;
  std::int64_t channels = 0;
  bool has_relu = false;
};

// Transforms 6x6 pixels of an input. `to` points to the row of the tile at the first position.
void transform_input(const TilePixels& pixels, const TileMatrix& to);
// Transforms 4x4 pixels of the gradient of an output, by the transposed of transform_output, and
// adds all of them to `sum`, whole panels of channels.
void transform_gradient(const TilePixels& pixels, const TileMatrix& to, float* sum);
// From the 36 positions of a tile to 4x4 pixels. `bias` may be null.
void transform_output(const TileMatrix& from, const float* bias, const TileResult& to);

// (3, 3, in, out) -> for each position and panel of `out`, filled up with zeros, `in` rows of the
// panel.
void transform_weights(const float* weights, std::int64_t in, std::int64_t out, float* to);
// The gradient of the weights, (3, 3, in, out), from that of the transformed ones, which are for
// each position `in` rows of `out` filled up to whole panels.
void transform_weight_gradient(const float* from, std::int64_t in, std::int64_t out, float* to);

}  // namespace tutti::kernels
