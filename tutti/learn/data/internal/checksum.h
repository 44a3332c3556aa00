// Checksums of data files; docs/formats/data.md specifies them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti::learn {

inline constexpr std::uint64_t kChecksumStart = 0xcbf29ce484222325;

// Continues `sum` over 8-byte words, the last one padded with zeros.
std::uint64_t checksum_of(const void* data, std::size_t bytes, std::uint64_t sum = kChecksumStart);

// A chunk, whose size is a multiple of 64, is summed in pieces of kPieceBytes; its checksum is the checksum of their
// sums.
inline constexpr std::size_t kPieceBytes = 256 << 10;
std::uint64_t checksum_of_chunk(const std::byte* data, std::size_t bytes);

// Incremental sum of one piece; `add` takes multiples of 32 bytes.
class PieceSum {
 public:
  void add(const std::byte* data, std::size_t bytes);
  std::uint64_t value() const;

 private:
  std::array<std::uint64_t, 4> sums_ = {kChecksumStart, kChecksumStart + 1, kChecksumStart + 2,
                                        kChecksumStart + 3};
};

}  // namespace tutti::learn
