#include "tutti/learn/tree/histogram/class_sums.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tutti::learn::tree {
namespace {

template <int kColumns>
void add_offsets(const std::uint8_t* bins, int stride, std::span<const std::uint16_t> offsets,
                 std::uint32_t* words, Prefetcher& prefetcher) {
  Prefetcher local = prefetcher;
  for (const std::uint16_t offset : offsets) {
    const std::uint8_t* row = bins + static_cast<std::size_t>(offset & 0x7fff) * stride;
    const std::uint32_t word = (static_cast<std::uint32_t>(offset >> 15) << 16) + 1;
    local.prefetch();
#pragma GCC unroll 32
    for (int c = 0; c < kColumns; ++c) words[c * kBins + row[c]] += word;
    local.prefetch();
  }
  prefetcher = local;
}

}  // namespace

void ClassSums::add(const BinnedData& data, const std::uint8_t* bins,
                    std::span<const std::uint16_t> offsets, std::uint64_t* histogram,
                    Prefetcher& prefetcher) {
  using Function = void (*)(const std::uint8_t*, int, std::span<const std::uint16_t>,
                            std::uint32_t*, Prefetcher&);
  static constexpr auto kFunctions = []<int... kIndex>(std::integer_sequence<int, kIndex...>) {
    return std::array<Function, sizeof...(kIndex)>{&add_offsets<kIndex + 1>...};
  }(std::make_integer_sequence<int, BinnedData::kTileColumns>());
  if (rows_ + offsets.size() > kMaxRows) flush(histogram);
  const auto columns = static_cast<std::size_t>(data.columns());
  words_.resize(columns * kBins);
  rows_ += offsets.size();
  kFunctions[columns - 1](bins, data.stride(), offsets, words_.data(), prefetcher);
}

void ClassSums::flush(std::uint64_t* histogram) {
  if (rows_ == 0) return;
  for (std::size_t i = 0; i < words_.size(); ++i)
    histogram[i] += pack(words_[i] >> 16, words_[i] & 0xffff);
  std::fill(words_.begin(), words_.end(), 0);
  rows_ = 0;
}

}  // namespace tutti::learn::tree
