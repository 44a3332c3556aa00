// The loops of pooling 2x2 with relu and dropout, without libtorch. Channels lie beside each other.
#pragma once

#include <cstdint>

namespace tutti::kernels {

// Which outputs are zeroed: each with probability threshold / 65536, by its place and the seed.
struct DropRule {
  std::uint64_t seed = 0;
  std::uint32_t threshold = 0;
};

// One row of `columns` outputs from two rows of twice as many pixels. `winner` tells for each
// output which of its inputs came through. `place` is the number of the first output, for the
// dropout.
void pool_row(const float* top, const float* bottom, float* out, std::uint8_t* winner,
              std::int64_t columns, std::int64_t channels, std::int64_t place,
              const DropRule& rule);
// The same for the bits of bf16.
void pool_row(const std::int16_t* top, const std::int16_t* bottom, std::int16_t* out,
              std::uint8_t* winner, std::int64_t columns, std::int64_t channels, std::int64_t place,
              const DropRule& rule);

// The gradients of the two rows.
void unpool_row(const float* gradient, const std::uint8_t* winner, float* top, float* bottom,
                std::int64_t columns, std::int64_t channels);
void unpool_row(const std::int16_t* gradient, const std::uint8_t* winner, std::int16_t* top,
                std::int16_t* bottom, std::int64_t columns, std::int64_t channels);

}  // namespace tutti::kernels
