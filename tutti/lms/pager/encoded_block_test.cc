// Blocks that are stored in a lossless encoding.
#include "tutti/lms/pager/encoded_block.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <vector>

#include "tutti/core/test_error.h"
#include "tutti/lms/pager/test_blocks.h"

namespace tutti::lms {
namespace {

constexpr std::int64_t kLarge = 5 << 20;  // more than two pieces

// Every other word is 0, as in the output of a ReLU.
void fill_sparse(std::byte* data, std::int64_t bytes) {
  std::mt19937 random(7);
  auto* words = reinterpret_cast<std::uint32_t*>(data);
  for (std::int64_t i = 0; i < bytes / 4; ++i)
    words[i] = random() % 2 == 0 ? 0 : static_cast<std::uint32_t>(random()) | 1;
}

std::vector<std::byte> copy_of(const std::byte* data, std::int64_t bytes) {
  return {data, data + bytes};
}

// A block with sparse content that has been stored encoded. The pager has room for `budget` bytes.
struct StoredBlock {
  explicit StoredBlock(std::int64_t budget, std::int64_t bytes = kLarge,
                       io::FaultInjector faults = {})
      : pager([&] {
          PagerOptions options = options_with(1, std::move(faults));
          options.budget = budget;
          return options;
        }()),
        block(pager.allocate(bytes)),
        ref(pager.find(block)) {
    fill_sparse(block, bytes);
    content = copy_of(block, bytes);
    EXPECT_TRUE(pager.page_out(ref, choose_codec(content)));
    pager.finish_page_out(ref);
  }

  bool has_content() { return std::memcmp(block, content.data(), content.size()) == 0; }

  Pager pager;
  std::byte* const block;
  const BlockRef ref;
  std::vector<std::byte> content;
};

TEST(EncodedBlock, DecodesWholeBlocksAndSinglePieces) {
  std::vector<std::byte> block(kLarge + 4096);
  fill_sparse(block.data(), static_cast<std::int64_t>(block.size()));
  std::vector<std::byte> stored(block.size());
  EncodedBlock encoded;
  EXPECT_FALSE(encoded.exists());
  ASSERT_TRUE(encoded.encode(Codec::kZeroSuppressed, block, stored));
  EXPECT_EQ(encoded.pieces(), 3);
  EXPECT_LT(encoded.stored_bytes(), kLarge * 6 / 10);
  stored.resize(static_cast<std::size_t>(encoded.stored_bytes()));
  std::vector<std::byte> decoded(block.size());
  EXPECT_TRUE(encoded.decode(stored, decoded));
  EXPECT_EQ(decoded, block);
  std::fill(decoded.begin(), decoded.end(), std::byte{});
  const auto second = static_cast<std::size_t>(encoded.stored_bytes(0));
  EXPECT_TRUE(encoded.decode_piece(1, std::span<const std::byte>(stored).subspan(second), decoded));
  EXPECT_EQ(std::memcmp(decoded.data() + kPieceBytes, block.data() + kPieceBytes, kPieceBytes), 0);
  EXPECT_EQ(decoded[0], std::byte{});
}

TEST(EncodedBlock, RefusesWhatDoesNotFitOrApply) {
  std::vector<std::byte> block(kLarge), stored(kLarge / 4);
  fill_sparse(block.data(), kLarge);
  EncodedBlock encoded;
  EXPECT_FALSE(encoded.encode(Codec::kZeroSuppressed, block, stored));
  EXPECT_FALSE(encoded.encode(Codec::kBits, block, stored));
  EXPECT_FALSE(encoded.exists());
}

TEST(EncodedBlock, PageOutsAreSmallerAndRestoreEveryBit) {
  StoredBlock stored(4 * kLarge);
  EXPECT_EQ(stored.pager.statistics().encoded, 1);
  EXPECT_LT(stored.pager.statistics().bytes_written, kLarge * 6 / 10);
  EXPECT_EQ(stored.pager.statistics().resident, 0);
  EXPECT_TRUE(stored.pager.prefetch(stored.ref));
  stored.pager.finish_read(stored.ref);
  const Pinned pin(stored.pager, stored.block);
  EXPECT_TRUE(stored.has_content());
  EXPECT_EQ(stored.pager.statistics().unplanned_reads, 0);
  EXPECT_EQ(stored.pager.statistics().resident, kLarge);
  EXPECT_LT(stored.pager.statistics().bytes_read, kLarge * 6 / 10);
}

TEST(EncodedBlock, WithoutMemoryForTheEncodingBlocksAreWrittenAsTheyAre) {
  StoredBlock stored(kLarge);
  EXPECT_EQ(stored.pager.statistics().encoded, 0);
  EXPECT_EQ(stored.pager.statistics().bytes_written, kLarge);
  const Pinned pin(stored.pager, stored.block);
  EXPECT_TRUE(stored.has_content());
  EXPECT_LE(stored.pager.statistics().peak_resident, kLarge);
}

TEST(EncodedBlock, ReadsNeedOnlyTheMemoryOfTheBlock) {
  StoredBlock stored(2 * kLarge);
  std::byte* const other = stored.pager.allocate(kLarge, true);
  EXPECT_FALSE(stored.pager.prefetch(stored.ref));
  {
    const Pinned pin(stored.pager, stored.block);
    EXPECT_TRUE(stored.has_content());
    EXPECT_LE(stored.pager.statistics().peak_resident, 2 * kLarge);
  }
  EXPECT_TRUE(stored.pager.free(other));
}

TEST(EncodedBlock, APinDuringTheWriteCancelsIt) {
  std::atomic<bool> is_slow = true;
  Pager pager(options_with(60, [&](const io::RequestInfo&) {
    return io::Fault{.delay = std::chrono::microseconds(is_slow ? 50'000 : 0)};
  }));
  std::byte* const block = pager.allocate(kLarge);
  const BlockRef ref = pager.find(block);
  fill_sparse(block, kLarge);
  std::vector<std::byte> content = copy_of(block, kLarge);
  EXPECT_TRUE(pager.page_out(ref, choose_codec(content)));
  {
    const Pinned pin(pager, block);
    block[5] = content[5] = std::byte{77};
    is_slow = false;
  }
  pager.page_in_all();
  EXPECT_EQ(std::memcmp(block, content.data(), content.size()), 0);
  EXPECT_TRUE(pager.free(block));
  while (pager.statistics().resident != pager.statistics().cached) pager.poll();
  EXPECT_EQ(pager.statistics().cancelled, 1);
  EXPECT_EQ(pager.statistics().encoded, 0);
}

TEST(EncodedBlock, FailedTransfersLoseNothing) {
  std::atomic<bool> fails = true;
  const io::FaultInjector faults = [&](const io::RequestInfo& request) {
    return io::Fault{.error = fails && request.is_write ? EIO : 0};
  };
  StoredBlock unwritten(4 * kLarge, kLarge, faults);
  EXPECT_EQ(unwritten.pager.statistics().encoded, 0);
  EXPECT_TRUE(unwritten.has_content());
  EXPECT_EQ(unwritten.pager.statistics().resident, kLarge);

  StoredBlock stored(2 * kLarge, kLarge, [&](const io::RequestInfo& request) {
    return io::Fault{.error = fails && !request.is_write ? EIO : 0};
  });
  EXPECT_EQ(stored.pager.statistics().encoded, 1);
  const auto pin = [&] { stored.pager.pin({&stored.ref, 1}); };
  EXPECT_NE(error_of(pin).find("DDL-5-74"), std::string::npos);
  std::byte* const other = stored.pager.allocate(kLarge, true);  // now in pieces
  EXPECT_NE(error_of(pin).find("DDL-5-74"), std::string::npos);
  fails = false;
  pin();
  EXPECT_TRUE(stored.has_content());
  EXPECT_TRUE(stored.pager.free(other));
}

}  // namespace
}  // namespace tutti::lms
