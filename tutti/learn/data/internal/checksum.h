// The checksums of our own data files; docs/formats/data.md says how they are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tutti::learn {

class Threads;

inline constexpr std::uint64_t kChecksumStart = 0xcbf29ce484222325;

// Over words of 8 bytes, the last one filled up with zeros; goes on from `sum`.
std::uint64_t checksum_of(const void* data, std::size_t bytes, std::uint64_t sum = kChecksumStart);

// Of a whole chunk, whose size is a multiple of 64: the checksum of the sums of its pieces.
// `threads` make these side by side; null: the caller alone. look(begin, end) is called for each
// piece while it is in the cache.
using Look = std::function<void(std::size_t begin, std::size_t end)>;
std::uint64_t checksum_of_chunk(const std::byte* data, std::size_t bytes, Threads* threads,
                                const Look& look = {});

}  // namespace tutti::learn
