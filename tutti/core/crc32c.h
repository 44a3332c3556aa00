// CRC-32C (Castagnoli), as checkpoints and TensorBoard files carry it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

// Continues from `previous`, the value of what came before.
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t previous = 0);

}  // namespace tutti
