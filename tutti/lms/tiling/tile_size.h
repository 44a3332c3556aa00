// Size of the tiles, shared by all threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::lms {

// Bytes; 0: operators run untiled.
inline std::atomic<std::int64_t>& tile_size() {
  static std::atomic<std::int64_t> bytes = 0;
  return bytes;
}
inline std::int64_t tile_bytes() {
  return tile_size().load(std::memory_order_relaxed);
}

}  // namespace tutti::lms
