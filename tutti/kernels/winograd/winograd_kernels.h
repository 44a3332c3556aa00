// Tile transforms of the Winograd convolution, independent of libtorch.
//
// A tile is 4x4 output pixels, computed from 6x6 input pixels. Both are transformed to 36 positions; at each position
// the convolution is a matrix product over channels. All loops run over channels, which are contiguous.
#pragma once

#include <cstdint>

#include "tutti/kernels/winograd/panel_products.h"

namespace tutti::kernels {

constexpr int kTileIn = 6, kTileOut = 4, kPositions = kTileIn * kTileIn;

// One matrix per position, with one row per tile. Rows are at least kPanel values longer than their channels, so
// full-register stores at the end of a row are safe.
struct TileMatrix {
  float* values = nullptr;
  std::int64_t row = 0, position = 0;  // strides in values
};

// Pixels of one tile, row by row. Zeros are read where `signs`, the pixels of another image, are not positive; null: no
// mask.
struct TilePixels {
  const float* const* values = nullptr;
  const float* const* signs = nullptr;
  std::int64_t channels = 0;
};

// 4x4 pixels of a result, row by row; pixels outside the image are null. The result is computed in this order: add the
// pixels of `add`, which may be the same memory; apply ReLU if `has_relu`; set it to zero where `signs` is not
// positive. A null `add` or `signs` is skipped.
struct TileResult {
  float* const* values = nullptr;
  float* const* add = nullptr;
  float* const* signs = nullptr;
  std::int64_t channels = 0;
  bool has_relu = false;
};

// Transforms 6x6 pixels of the input. `to` points to the row of the tile at the first position.
void transform_input(const TilePixels& pixels, const TileMatrix& to);
// Transforms 4x4 pixels of the output gradient with the transpose of transform_output, and adds all of them to `sum`,
// which holds full panels of channels.
void transform_gradient(const TilePixels& pixels, const TileMatrix& to, float* sum);
// Transforms the 36 positions of a tile to 4x4 pixels. `bias` may be null.
void transform_output(const TileMatrix& from, const float* bias, const TileResult& to);

// (3, 3, in, out) -> for each position and each panel of `out`, zero-padded: `in` rows of the panel.
void transform_weights(const float* weights, std::int64_t in, std::int64_t out, float* to);
// Computes the gradient of the weights, (3, 3, in, out), from that of the transformed weights: for each position, `in`
// rows of `out` padded to full panels.
void transform_weight_gradient(const float* from, std::int64_t in, std::int64_t out, float* to);

}  // namespace tutti::kernels
