// AMX instructions. A thread has eight tile registers of 16 rows of 64 bytes. The register number is part of the
// instruction, so it is a template argument.
#pragma once

#include <cstdint>

namespace tutti::kernels {

// Configures all tiles of this thread to their full size for the lifetime of the object. Must not be nested.
class TileScope {
 public:
  TileScope() {
    alignas(64) std::uint8_t configuration[64] = {1};  // palette 1, the only one defined
    for (int tile = 0; tile < 8; ++tile) {
      configuration[16 + 2 * tile] = 64;  // bytes per row
      configuration[48 + tile] = 16;      // rows
    }
    __asm__ volatile("ldtilecfg (%0)" : : "r"(configuration) : "memory");
  }
  ~TileScope() { __asm__ volatile("tilerelease" : : : "memory"); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

// Loads a tile. `row_bytes`: stride between rows; 0 loads the same row 16 times.
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

// kSum += kLeft * kRight. kSum is 16 x 16 f32; kLeft is 16 rows of 32 bf16; kRight is 32 rows of 16 bf16, stored in
// pairs of rows: the two values of a column are adjacent.
template <int kSum, int kLeft, int kRight>
inline __attribute__((always_inline)) void multiply_tiles() {
  __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kLeft), "i"(kRight));
}

}  // namespace tutti::kernels
