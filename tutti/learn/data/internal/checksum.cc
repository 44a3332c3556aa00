#include "tutti/learn/data/internal/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace tutti::learn {
namespace {

constexpr std::uint64_t kFactor = 0x100000001b3;

std::uint64_t add(std::uint64_t sum, std::uint64_t word) {
  return std::rotl(sum ^ word, 23) * kFactor;
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

// Four independent sums hide the latency of the multiplications. As an array they would be stored to memory.
void PieceSum::add(const std::byte* data, std::size_t bytes) {
  auto [a, b, c, d] = sums_;
  const auto word = [&](std::size_t at) {
    std::uint64_t found;
    std::memcpy(&found, data + at, sizeof(found));
    return found;
  };
  for (std::size_t at = 0; at < bytes; at += 32) {
    a = learn::add(a, word(at));
    b = learn::add(b, word(at + 8));
    c = learn::add(c, word(at + 16));
    d = learn::add(d, word(at + 24));
  }
  sums_ = {a, b, c, d};
}

std::uint64_t PieceSum::value() const {
  return checksum_of(sums_.data(), sizeof(sums_));
}

std::uint64_t checksum_of_chunk(const std::byte* data, std::size_t bytes) {
  std::vector<std::uint64_t> sums;
  for (std::size_t at = 0; at < bytes; at += kPieceBytes) {
    PieceSum piece;
    piece.add(data + at, std::min(kPieceBytes, bytes - at));
    sums.push_back(piece.value());
  }
  return checksum_of(sums.data(), sums.size() * sizeof(sums[0]));
}

}  // namespace tutti::learn
