#include "tutti/lms/pager/fault_handler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "tutti/lms/pager/test_blocks.h"

#if defined(__SANITIZE_THREAD__)
#define TUTTI_TEST_FAULTS 0  // ThreadSanitizer delays signal handlers of the process
#else
#define TUTTI_TEST_FAULTS 1
#endif

namespace tutti::lms {
namespace {

// Never destroyed, as serve_faults requires.
Pager& served_pager(PagerOptions options) {
  auto* const pager = new Pager(std::move(options));
  serve_faults(*pager);
  return *pager;
}

TEST(FaultHandler, PagesInWhatIsAccessedWithoutAPin) {
  if (!TUTTI_TEST_FAULTS) GTEST_SKIP();
  Pager& pager = served_pager(options_with(4));
  std::byte* const block = pager.allocate(kBlock);
  fill(block, 1);
  move_out(pager, block);
  EXPECT_TRUE(is_filled(block, 1));
  EXPECT_EQ(pager.statistics().faults, 1);
  EXPECT_EQ(pager.statistics().unplanned_reads, 1);
}

TEST(FaultHandler, AStoreCancelsAPageOut) {
  if (!TUTTI_TEST_FAULTS) GTEST_SKIP();
  Pager& pager = served_pager(options_with(4, [](const io::RequestInfo& request) -> io::Fault {
    return {.delay = std::chrono::microseconds(request.is_write ? 20'000 : 0)};
  }));
  std::byte* const block = pager.allocate(kBlock);
  fill(block, 1);
  const BlockRef ref = pager.find(block);
  ASSERT_TRUE(pager.page_out(ref));
  fill(block, 2);
  pager.finish_page_out(ref);
  EXPECT_TRUE(is_filled(block, 2));
}

// All threads access the same blocks, none with a pin, while the budget holds half of them.
TEST(FaultHandler, ThreadsSeeCompleteBlocks) {
  if (!TUTTI_TEST_FAULTS) GTEST_SKIP();
  constexpr int kBlocks = 8, kThreads = 4, kRounds = 20;
  Pager& pager = served_pager(options_with(4));
  std::vector<std::byte*> blocks;
  for (int i = 0; i < kBlocks; ++i) fill(blocks.emplace_back(pager.allocate(kBlock)), i);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&] {
        for (int round = 0; round < kRounds; ++round)
          for (int i = 0; i < kBlocks; ++i)
            if (!is_filled(blocks[i], i)) ++wrong;
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(pager.statistics().faults, 0);
  EXPECT_LE(pager.statistics().peak_resident, 4 * kBlock);
}

TEST(FaultHandlerDeathTest, UnreadableBlocksEndTheProcessWithTheReason) {
  if (!TUTTI_TEST_FAULTS) GTEST_SKIP();
  EXPECT_DEATH(
      {
        Pager& pager =
            served_pager(options_with(4, [](const io::RequestInfo& request) -> io::Fault {
              return {.error = request.is_write ? 0 : EIO};
            }));
        std::byte* const block = pager.allocate(kBlock);
        fill(block, 1);
        const BlockRef ref = pager.find(block);
        pager.page_out(ref);
        pager.finish_page_out(ref);
        is_filled(block, 1);
      },
      "DDL-5-74");
}

TEST(FaultHandlerDeathTest, OtherFaultsEndTheProcess) {
  if (!TUTTI_TEST_FAULTS) GTEST_SKIP();
  EXPECT_DEATH(
      {
        Pager& pager = served_pager(options_with(4));
        std::byte* const block = pager.allocate(kBlock);
        *static_cast<volatile std::byte*>(block + (std::int64_t{1} << 30)) = std::byte{1};
      },
      "");
}

}  // namespace
}  // namespace tutti::lms
