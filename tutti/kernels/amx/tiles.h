// The instructions of matrix units (AMX). A thread has eight tiles of 16 rows of 64 bytes; which
// one an instruction means is part of the instruction.
#pragma once

#include <cstdint>

namespace tutti::kernels {

// While it lives, all tiles of this thread have their full size. Not to be nested.
class TileScope {
 public:
  TileScope() {
    alignas(64) std::uint8_t configuration[64] = {1};  // the only palette there is
    for (int tile = 0; tile < 8; ++tile) {
      configuration[16 + 2 * tile] = 64;  // bytes in a row
      configuration[48 + tile] = 16;      // rows
    }
    __asm__ volatile("ldtilecfg (%0)" : : "r"(configuration) : "memory");
  }
  ~TileScope() { __asm__ volatile("tilerelease" : : : "memory"); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

// Rows in memory are `row_bytes` apart; 0 gives all rows the same values.
template <int kTile>
inline __attribute__((always_inline)) void load_tile(const void* from, std::int64_t row_bytes) {
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2"
                   :
                   : "r"(from), "r"(row_bytes), "i"(kTile)
                   : "memory");
}

template <int kTile>
inline __attribute__((always_inline)) void store_tile(void* to, std::int64_t row_bytes) {
  __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)"
                   :
                   : "r"(to), "r"(row_bytes), "i"(kTile)
                   : "memory");
}

// kSum, 16 x 16 of f32, gets the product of kLeft, 16 rows of 32 bf16, and kRight, whose 32 rows of
// 16 bf16 come in pairs: the two values of a column beside each other.
template <int kSum, int kLeft, int kRight>
inline __attribute__((always_inline)) void multiply_tiles() {
  __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kLeft), "i"(kRight));
}

}  // namespace tutti::kernels
