// CRC-32C (Castagnoli), the checksum of checkpoints and TensorBoard files.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

// Returns the checksum of `bytes` bytes. For data in several pieces, pass the checksum of the preceding pieces as
// `previous`.
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t previous = 0);

}  // namespace tutti
