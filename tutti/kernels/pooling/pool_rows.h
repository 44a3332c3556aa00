// Row kernels for 2x2 max pooling with ReLU and dropout, independent of libtorch. Channels are contiguous.
#pragma once

#include <cstdint>

namespace tutti::kernels {

// Dropout mask: each output is zeroed with probability threshold / 65536, determined by its index and the seed.
struct DropRule {
  std::uint64_t seed = 0;
  std::uint32_t threshold = 0;
};

// Computes one row of `columns` outputs from two rows of twice as many pixels. `winner` records for each output which
// of its inputs was selected. `position` is the index of the first output, for the dropout mask.
void pool_row(const float* top, const float* bottom, float* out, std::uint8_t* winner,
              std::int64_t columns, std::int64_t channels, std::int64_t position,
              const DropRule& rule);
// The same for bf16 bit patterns.
void pool_row(const std::int16_t* top, const std::int16_t* bottom, std::int16_t* out,
              std::uint8_t* winner, std::int64_t columns, std::int64_t channels,
              std::int64_t position, const DropRule& rule);

// Gradients of the two input rows.
void unpool_row(const float* gradient, const std::uint8_t* winner, float* top, float* bottom,
                std::int64_t columns, std::int64_t channels);
void unpool_row(const std::int16_t* gradient, const std::uint8_t* winner, std::int16_t* top,
                std::int16_t* bottom, std::int64_t columns, std::int64_t channels);

}  // namespace tutti::kernels
