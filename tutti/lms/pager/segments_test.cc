#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tutti/core/test_error.h"
#include "tutti/lms/pager/fault_handler.h"
#include "tutti/lms/pager/test_blocks.h"

namespace tutti::lms {
namespace {

constexpr std::int64_t kSegments = 10;

TEST(Segments, AnAllocationMayExceedTheBudget) {
  Pager pager(options_with(4));
  std::byte* const memory = pager.allocate_segments(kSegments * kBlock, kBlock);
  EXPECT_EQ(pager.statistics().resident, 0);
  const std::vector<BlockRef> refs = pager.blocks_at(memory);
  ASSERT_EQ(refs.size(), kSegments);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    pager.pin({&refs[i], 1});
    std::byte* const segment = memory + static_cast<std::int64_t>(i) * kBlock;
    EXPECT_EQ(segment[17], std::byte{0});
    fill(segment, i);
    pager.unpin({&refs[i], 1});
  }
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const Pinned pin(pager, memory + static_cast<std::int64_t>(i) * kBlock);
    EXPECT_TRUE(is_filled(memory + static_cast<std::int64_t>(i) * kBlock, i));
  }
  EXPECT_LE(pager.statistics().peak_resident, 4 * kBlock);
  EXPECT_FALSE(pager.free(memory + kBlock));
  EXPECT_TRUE(pager.free(memory));
  EXPECT_EQ(pager.statistics().blocks, 0);
  EXPECT_EQ(pager.statistics().out, 0);
  while (pager.statistics().resident > 0)
    std::this_thread::yield(), pager.poll();  // writes in flight
}

TEST(Segments, EmptySegmentsAreNotWritten) {
  Pager pager(options_with(4));
  std::byte* const memory = pager.allocate_segments(kSegments * kBlock + 100, kBlock);
  const std::vector<BlockRef> refs = pager.blocks_at(memory);
  ASSERT_EQ(refs.size(), kSegments + 1);
  EXPECT_EQ(pager.bytes_of(refs.back()), Pager::kPageBytes);
  EXPECT_FALSE(pager.page_out(refs[0]));
  EXPECT_TRUE(pager.prefetch(refs[0]));
  std::byte* const block = pager.allocate(4 * kBlock);
  EXPECT_TRUE(pager.free(memory));
  EXPECT_TRUE(pager.free(block));
  EXPECT_EQ(pager.statistics().bytes_written, 0);
  EXPECT_EQ(pager.statistics().page_ins, 0);
}

TEST(Segments, AccessWithoutAPinMakesThemResident) {
  static auto* const pager = new Pager(options_with(4));  // the fault handler keeps it
  serve_faults(*pager);
  std::byte* const memory = pager->allocate_segments(kSegments * kBlock, kBlock);
  fill(memory, 3, kSegments * kBlock);
  EXPECT_TRUE(is_filled(memory, 3, kSegments * kBlock));
  EXPECT_LE(pager->statistics().peak_resident, 4 * kBlock);
  EXPECT_GE(pager->statistics().faults, 2 * kSegments - 4);
  pager->free(memory);
}

TEST(Segments, RangesFindTheBlocksTheyTouch) {
  Pager pager(options_with(4));
  std::byte* const first = pager.allocate(kBlock);
  std::byte* const memory = pager.allocate_segments(3 * kBlock, kBlock);
  const std::vector<BlockRef> all = pager.blocks_at(memory);
  const auto in_range = [&](const std::byte* begin, std::int64_t bytes) {
    std::vector<BlockRef> refs;
    pager.find_range(begin, bytes, refs);
    return refs;
  };
  EXPECT_EQ(in_range(memory, 3 * kBlock), all);
  EXPECT_EQ(in_range(memory + kBlock - 1, 2), std::vector<BlockRef>({all[0], all[1]}));
  EXPECT_EQ(in_range(memory + kBlock, kBlock), std::vector<BlockRef>({all[1]}));
  EXPECT_EQ(in_range(memory + 2 * kBlock + 5, 9 * kBlock), std::vector<BlockRef>({all[2]}));
  EXPECT_EQ(in_range(first + 5, 1), pager.blocks_at(first));
  EXPECT_TRUE(in_range(memory, 0).empty());
  EXPECT_TRUE(in_range(reinterpret_cast<const std::byte*>(&pager), 8).empty());
  EXPECT_TRUE(pager.blocks_at(memory + kBlock).empty());
  pager.free(memory);
  EXPECT_TRUE(in_range(memory, 3 * kBlock).empty());
}

TEST(Segments, TheirAddressesAreUsedAgain) {
  PagerOptions options = options_with(16);
  options.address_space = 32 * kBlock;
  Pager pager(options);
  for (int i = 0; i < 20; ++i) {
    std::byte* const memory = pager.allocate_segments(kSegments * kBlock, kBlock);
    const std::vector<BlockRef> refs = pager.blocks_at(memory);
    pager.pin(refs);
    fill(memory, std::uint64_t(i), kSegments * kBlock);
    EXPECT_TRUE(pager.free(memory));
    EXPECT_EQ(pager.statistics().pinned, 0);
    EXPECT_EQ(pager.statistics().resident, 0);
  }
  EXPECT_NE(error_of([&] { pager.allocate_segments(64 * kBlock, kBlock); }).find("DDL-5-73"),
            std::string::npos);
}

}  // namespace
}  // namespace tutti::lms
