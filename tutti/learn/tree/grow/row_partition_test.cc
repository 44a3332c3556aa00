#include "tutti/learn/tree/grow/row_partition.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::learn::tree {
namespace {

// More and fewer offsets than the prefetch distance; the top bit is not part of the offset.
TEST(PartitionOffsets, BothSidesKeepTheirOrder) {
  std::array<std::uint8_t, kBins> goes_left = {};
  for (std::size_t bin = 0; bin < 100; ++bin) goes_left[bin] = 1;
  for (const std::size_t size : {0, 1, 63, 64, 65, 1000}) {
    std::vector<std::uint8_t> bins(size + 1);
    std::vector<std::uint16_t> offsets(size), rights(size + 1), left, right;
    for (std::size_t i = 0; i < size; ++i) {
      bins[i] = static_cast<std::uint8_t>(i * 37);
      offsets[i] = static_cast<std::uint16_t>(i | (i % 3 == 0 ? 0x8000 : 0));
      (bins[i] < 100 ? left : right).push_back(offsets[i]);
    }
    Prefetcher prefetcher = {bins.data(), bins.data()};
    const auto bin_of = [&](std::size_t offset) { return bins.data() + (offset & 0x7fff); };
    const std::int64_t found =
        partition_offsets(offsets.data(), static_cast<std::int64_t>(size), offsets.data(),
                          rights.data(), bin_of, goes_left, prefetcher);
    ASSERT_EQ(found, static_cast<std::int64_t>(left.size())) << size;
    offsets.resize(left.size());
    rights.resize(right.size());
    EXPECT_EQ(offsets, left);
    EXPECT_EQ(rights, right);
    EXPECT_EQ(prefetcher.next, bins.data());
  }
}

TEST(Prefetcher, StopsAtTheEnd) {
  const std::vector<std::uint8_t> memory(1000);
  Prefetcher prefetcher = {memory.data(), memory.data() + 640};
  for (int i = 0; i < 20; ++i) prefetcher.prefetch();
  EXPECT_EQ(prefetcher.next, prefetcher.end);
}

}  // namespace
}  // namespace tutti::learn::tree
