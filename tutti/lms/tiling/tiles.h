// Views of parts of tensors.
//
// Views are created without calling operators, because a recorded operator would have the entire tensor as its input.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tutti::lms {

// A range of indices in each dimension.
struct Tile {
  std::vector<std::int64_t> starts, sizes;
};

// Partitions a tensor of these sizes into tiles of at most `most` elements, or one index of each dimension. Dimensions
// with large strides are divided first, so a tile of a dense tensor is a range of memory. Dimension `whole` is not
// divided; -1: all may be.
std::vector<Tile> tiles_of(at::IntArrayRef sizes, at::IntArrayRef strides, std::int64_t most,
                           std::int64_t whole = -1);

// True for a CPU tensor with storage, without lazy conjugation or negation.
bool is_plain(const at::Tensor& tensor);
// numel * itemsize.
std::int64_t bytes_of(const at::Tensor& tensor);

// A view of the storage of `tensor`; the offset is in elements of the storage.
at::Tensor view_of(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides,
                   std::int64_t offset);
// The part of `tensor`, which is broadcast to `sizes`, that corresponds to `tile`.
at::Tensor part_of(const at::Tensor& tensor, const Tile& tile, at::IntArrayRef sizes);
// The part [start, start + length) of one dimension.
at::Tensor range_of(const at::Tensor& tensor, std::int64_t dimension, std::int64_t start,
                    std::int64_t length);

// Copies in tiles; `source` is broadcast.
void copy_in_tiles(const at::Tensor& target, const at::Tensor& source);
// Adds in tiles to `target`, which has the same sizes.
void add_in_tiles(const at::Tensor& target, const at::Tensor& source);
void zero_in_tiles(const at::Tensor& target);

}  // namespace tutti::lms
