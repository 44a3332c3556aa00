#include "tutti/learn/data/internal/checksum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "tutti/learn/threads.h"

namespace tutti::learn {
namespace {

constexpr std::uint64_t kFactor = 0x100000001b3;
constexpr std::size_t kPiece = 256 << 10;

std::uint64_t add(std::uint64_t sum, std::uint64_t word) {
  return std::rotl(sum ^ word, 23) * kFactor;
}

// Four sums side by side: a single one would wait for its own multiplications. In an array they
// would go through memory.
std::uint64_t checksum_of_piece(const std::byte* data, std::size_t bytes) {
  std::uint64_t a = kChecksumStart, b = a + 1, c = a + 2, d = a + 3;
  const auto word = [&](std::size_t at) {
    std::uint64_t found;
    std::memcpy(&found, data + at, sizeof(found));
    return found;
  };
  for (std::size_t at = 0; at < bytes; at += 32) {
    a = add(a, word(at));
    b = add(b, word(at + 8));
    c = add(c, word(at + 16));
    d = add(d, word(at + 24));
  }
  const std::array<std::uint64_t, 4> sums = {a, b, c, d};
  return checksum_of(sums.data(), sizeof(sums));
}

}  // namespace

std::uint64_t checksum_of(const void* data, std::size_t bytes, std::uint64_t sum) {
  const auto* from = static_cast<const unsigned char*>(data);
  for (; bytes > 0;) {
    std::uint64_t word = 0;
    const std::size_t count = std::min<std::size_t>(8, bytes);
    std::memcpy(&word, from, count);
    sum = add(sum, word);
    from += count;
    bytes -= count;
  }
  return sum;
}

std::uint64_t checksum_of_chunk(const std::byte* data, std::size_t bytes, Threads* threads,
                                const Look& look) {
  std::vector<std::uint64_t> sums((bytes + kPiece - 1) / kPiece);
  const auto sum_piece = [&](std::int64_t piece) {
    const std::size_t begin = static_cast<std::size_t>(piece) * kPiece;
    const std::size_t end = std::min(bytes, begin + kPiece);
    sums[static_cast<std::size_t>(piece)] = checksum_of_piece(data + begin, end - begin);
    if (look) look(begin, end);
  };
  const auto pieces = static_cast<std::int64_t>(sums.size());
  if (threads != nullptr)
    threads->run(pieces, sum_piece);
  else
    for (std::int64_t piece = 0; piece < pieces; ++piece) sum_piece(piece);
  return checksum_of(sums.data(), sums.size() * sizeof(sums[0]));
}

}  // namespace tutti::learn
