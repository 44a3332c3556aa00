#include "tutti/lms/pager/pager.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "tutti/core/test_error.h"
#include "tutti/lms/pager/paged_block.h"
#include "tutti/lms/pager/test_blocks.h"

namespace tutti::lms {
namespace {

TEST(Pager, KeepsAddressesAndContentOfMoreThanTheBudget) {
  Pager pager(options_with(4));
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 20; ++i) {
    blocks.push_back(pager.allocate(kBlock, true));
    fill(blocks.back(), i);
    const BlockRef ref = pager.find(blocks.back());
    pager.unpin({&ref, 1});
  }
  for (int i = 0; i < 20; ++i) {
    const Pinned pin(pager, blocks[i]);
    EXPECT_TRUE(is_filled(blocks[i], i)) << i;
  }
  const PagerStatistics statistics = pager.statistics();
  EXPECT_LE(statistics.peak_resident, 4 * kBlock);
  EXPECT_EQ(statistics.resident + statistics.out, 20 * kBlock);
  EXPECT_GE(statistics.evictions, 16);
  EXPECT_GE(statistics.bytes_written, 16 * kBlock);
  for (std::byte* block : blocks) EXPECT_TRUE(pager.free(block));
  EXPECT_EQ(pager.statistics().blocks, 0);
  EXPECT_EQ(pager.statistics().out, 0);
}

TEST(Pager, DroppedBlocksAreRestoredBeforeAUse) {
  Pager pager(options_with(3));
  std::byte* const block = pager.allocate(kBlock);
  fill(block, 1);
  const BlockRef ref = pager.find(block);
  int restorations = 0;
  std::uint64_t seed = 1;
  pager.set_restorer([&](BlockRef dropped) {
    std::byte* const source = pager.allocate(kBlock);
    fill(source, seed);
    ++restorations;
    const bool is_restored = [&] {
      try {
        return pager.restore(dropped, pager.find(source));
      } catch (...) {
        pager.free(source);
        throw;
      }
    }();
    EXPECT_TRUE(is_restored);
    EXPECT_TRUE(pager.free(source));
  });
  EXPECT_TRUE(pager.drop(ref));
  EXPECT_FALSE(pager.drop(ref));
  EXPECT_TRUE(pager.is_dropped(ref));
  EXPECT_EQ(pager.statistics().resident, 0);
  {
    const Pinned pin(pager, block);
    EXPECT_TRUE(is_filled(block, 1));
    EXPECT_FALSE(pager.drop(ref));
  }
  EXPECT_EQ(restorations, 1);
  EXPECT_EQ(pager.statistics().resident - pager.statistics().cached, kBlock);
  EXPECT_EQ(pager.statistics().bytes_written, 0);
  EXPECT_TRUE(pager.drop(ref));
  EXPECT_TRUE(pager.handle_fault(block + 100));
  EXPECT_TRUE(is_filled(block, 1));
  EXPECT_TRUE(pager.drop(ref));
  seed = 2;  // another content
  EXPECT_NE(error_of([&] { pager.pin({&ref, 1}); }).find("the recomputed content differs"),
            std::string::npos);
  EXPECT_TRUE(pager.free(block));
  EXPECT_EQ(pager.statistics().out, 0);
  EXPECT_EQ(pager.statistics().pinned, 0);
}

TEST(Pager, PageOutReturnsTheMemory) {
  const auto resident_pages = [] {
    std::ifstream file("/proc/self/statm");
    std::int64_t total = 0, resident = 0;
    file >> total >> resident;
    return resident;
  };
  constexpr std::int64_t kBytes = 64 << 20;
  PagerOptions options = options_with(2 * kBytes / kBlock);
  options.verifies = false;
  Pager pager(options);
  std::byte* const block = pager.allocate(kBytes);
  fill(block, 1, kBytes);
  const std::int64_t before = resident_pages();
  move_out(pager, block);
  EXPECT_LT(resident_pages(), before - kBytes / 4096 * 9 / 10);
  const Pinned pin(pager, block);
  EXPECT_TRUE(is_filled(block, 1, kBytes));
}

TEST(Pager, BudgetErrorNamesTheNumbers) {
  Pager pager(options_with(4));
  for (int i = 0; i < 3; ++i) pager.allocate(kBlock, true);
  pager.allocate(kBlock);
  try {
    pager.allocate(2 * kBlock);
    FAIL();
  } catch (const BudgetError& error) {
    EXPECT_EQ(error.code(), "DDL-5-70");
    EXPECT_EQ(error.requested, 2 * kBlock);
    EXPECT_EQ(error.pinned, 3 * kBlock);
    EXPECT_NE(std::string(error.what()).find("At least 2MiB are needed"), std::string::npos)
        << error.what();
  }
  EXPECT_NE(pager.allocate(kBlock), nullptr);  // the unpinned block leaves
}

TEST(Pager, EvictsTheFarthestNextUseThenTheLeastRecentlyUsed) {
  Pager pager(options_with(4));
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(pager.allocate(kBlock));
    fill(blocks.back(), i);
  }
  pager.set_next_use(pager.find(blocks[2]), 7);
  pager.set_next_use(pager.find(blocks[3]), 9);
  {
    const Pinned pin(pager, blocks[0]);
  }
  const auto is_out = [&](int i) {
    const std::int64_t before = pager.statistics().unplanned_reads;
    // A prefetch of a resident block does nothing. The budget is full, so a prefetch of a block that is out fails.
    return !pager.prefetch(pager.find(blocks[i])) || pager.statistics().unplanned_reads != before;
  };
  pager.allocate(kBlock, true);
  EXPECT_TRUE(is_out(3));
  pager.allocate(kBlock, true);
  EXPECT_TRUE(is_out(2));
  pager.allocate(kBlock, true);
  EXPECT_TRUE(is_out(1));
  EXPECT_FALSE(is_out(0));
}

TEST(Pager, UnevictableBlocksStay) {
  Pager pager(options_with(2));
  std::byte* const block = pager.allocate(kBlock);
  pager.set_evictable(pager.find(block), false);
  fill(block, 1);
  pager.allocate(kBlock);
  EXPECT_NE(error_of([&] { pager.allocate(2 * kBlock); }), "");
  pager.allocate(kBlock);
  EXPECT_TRUE(is_filled(block, 1));
}

TEST(Pager, FreedMemoryIsReusedAndGivenUp) {
  Pager pager(options_with(4));
  std::byte* const block = pager.allocate(kBlock);
  fill(block, 5);
  pager.free(block);
  EXPECT_EQ(pager.statistics().resident, kBlock);
  EXPECT_EQ(pager.allocate(kBlock), block);
  EXPECT_TRUE(is_filled(block, 5));  // the same memory
  EXPECT_TRUE(pager.free(block));
  EXPECT_FALSE(pager.free(block));
  EXPECT_NE(pager.allocate(4 * kBlock), nullptr);
  EXPECT_EQ(pager.statistics().resident, 4 * kBlock);
}

TEST(Pager, StaleReferencesAreIgnored) {
  Pager pager(options_with(4));
  std::byte* const first = pager.allocate(kBlock, true);
  const BlockRef stale = pager.find(first);
  pager.free(first);
  std::byte* const second = pager.allocate(kBlock, true);
  ASSERT_EQ(second, first);
  pager.unpin({&stale, 1});
  EXPECT_EQ(pager.statistics().pinned, kBlock);
  EXPECT_FALSE(pager.page_out(stale));
}

TEST(Pager, PrefetchArrivesBeforeThePin) {
  Pager pager(options_with(4));
  std::byte* const block = pager.allocate(kBlock);
  fill(block, 3);
  move_out(pager, block);
  EXPECT_TRUE(pager.prefetch(pager.find(block)));
  const Pinned pin(pager, block);
  EXPECT_TRUE(is_filled(block, 3));
  EXPECT_EQ(pager.statistics().unplanned_reads, 0);
  EXPECT_EQ(pager.statistics().page_ins, 1);
}

TEST(Pager, APinCancelsAPageOut) {
  Pager pager(options_with(4, [](const io::RequestInfo& request) -> io::Fault {
    return {.delay = std::chrono::microseconds(request.is_write ? 20'000 : 0)};
  }));
  std::byte* const block = pager.allocate(kBlock);
  fill(block, 1);
  const BlockRef ref = pager.find(block);
  ASSERT_TRUE(pager.page_out(ref));
  {
    const Pinned pin(pager, block);
    fill(block, 2);  // while the old content is written
  }
  EXPECT_EQ(pager.statistics().cancelled, 1);
  EXPECT_FALSE(pager.page_out(ref));  // the write is still in flight
  while (!pager.page_out(ref)) pager.poll();
  pager.finish_page_out(ref);
  const Pinned pin(pager, block);
  EXPECT_TRUE(is_filled(block, 2));
}

TEST(Pager, FailedWritesAreReportedAndLoseNothing) {
  for (const int error : {ENOSPC, EIO}) {
    bool fails = true;
    Pager pager(options_with(2, [&](const io::RequestInfo& request) -> io::Fault {
      return {.error = request.is_write && fails ? error : 0};
    }));
    std::byte* const first = pager.allocate(kBlock);
    fill(first, 1);
    std::byte* const second = pager.allocate(kBlock);
    fill(second, 2);
    const std::string message = error_of([&] { pager.allocate(kBlock); });
    EXPECT_NE(message.find("DDL-5-72"), std::string::npos) << message;
    EXPECT_NE(message.find(std::strerror(error)), std::string::npos) << message;
    EXPECT_TRUE(is_filled(first, 1));
    EXPECT_TRUE(is_filled(second, 2));
    fill(first, 3);  // writable again
    fails = false;
    std::byte* const third = pager.allocate(kBlock);
    fill(third, 4);
    const Pinned pin(pager, first);
    EXPECT_TRUE(is_filled(first, 3));
    EXPECT_LE(pager.statistics().peak_resident, 2 * kBlock);
  }
}

TEST(Pager, ShortTransfersAreContinued) {
  Pager pager(options_with(2, [](const io::RequestInfo& request) -> io::Fault {
    return {.most_bytes = request.bytes / 3};
  }));
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 6; ++i) fill(blocks.emplace_back(pager.allocate(kBlock)), i);
  for (int i = 0; i < 6; ++i) {
    const Pinned pin(pager, blocks[i]);
    EXPECT_TRUE(is_filled(blocks[i], i));
  }
}

TEST(Pager, FailedReadsAreReportedAndCanBeRepeated) {
  bool fails = true;
  Pager pager(options_with(2, [&](const io::RequestInfo& request) -> io::Fault {
    return {.error = !request.is_write && fails ? EIO : 0};
  }));
  std::byte* const block = pager.allocate(kBlock);
  fill(block, 1);
  move_out(pager, block);
  const std::string message = error_of([&] { const Pinned pin(pager, block); });
  EXPECT_NE(message.find("DDL-5-74"), std::string::npos) << message;
  EXPECT_EQ(pager.statistics().pinned, 0);
  EXPECT_EQ(pager.statistics().resident, 0);
  fails = false;
  const Pinned pin(pager, block);
  EXPECT_TRUE(is_filled(block, 1));
}

TEST(Pager, DamagedContentIsDetected) {
  Pager pager(options_with(4));
  std::byte* const block = pager.allocate(kBlock);
  fill(block, 1);
  move_out(pager, block);
  pager.find(block).block->checksum ^= 1;
  const std::string message = error_of([&] { const Pinned pin(pager, block); });
  EXPECT_NE(message.find("DDL-5-74"), std::string::npos) << message;
}

TEST(Pager, ReportsAMissingDirectory) {
  PagerOptions options = options_with(2);
  options.directory = "/nonexistent/directory";
  const std::string message = error_of([&] { const Pager pager(options); });
  EXPECT_NE(message.find("DDL-5-71"), std::string::npos) << message;
  EXPECT_NE(message.find("/nonexistent/directory"), std::string::npos) << message;
}

TEST(Pager, KilledProcessesLeaveNoFile) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("tutti-pager-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  PagerOptions options = options_with(2);
  options.directory = directory;
  options.engine = io::FileQueue::Engine::kIoUring;
  const pid_t child = ::fork();
  if (child == 0) {
    Pager pager(options);
    for (int i = 0; i < 8; ++i) fill(pager.allocate(kBlock), i);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove(directory);
}

TEST(Pager, ASmallerBudgetTakesEffect) {
  Pager pager(options_with(8));
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 8; ++i) fill(blocks.emplace_back(pager.allocate(kBlock)), i);
  pager.set_budget(3 * kBlock);
  EXPECT_LE(pager.statistics().resident, 3 * kBlock);
  const Pinned a(pager, blocks[0]), b(pager, blocks[1]), c(pager, blocks[2]);
  EXPECT_NE(error_of([&] { pager.set_budget(2 * kBlock); }), "");
  EXPECT_EQ(pager.budget(), 3 * kBlock);
}

// Random operations of several threads on their blocks. Every block keeps its content, and the budget holds.
void run_random_operations(io::FileQueue::Engine engine, std::chrono::microseconds delay) {
  constexpr int kThreads = 3, kOperations = 600, kBlocksEach = 8;
  PagerOptions options = options_with(14, [&](const io::RequestInfo& request) -> io::Fault {
    return {.most_bytes = request.offset % 3 == 0 ? request.bytes / 2 : 0, .delay = delay};
  });
  options.engine = engine;
  options.pin_timeout = 60;
  Pager pager(options);
  std::atomic<int> wrong = 0;
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    struct Owned {
      std::byte* address = nullptr;
      std::uint64_t content = 0;
      std::int64_t bytes = 0;
    };
    std::vector<Owned> owned(kBlocksEach);
    for (int i = 0; i < kOperations; ++i) {
      Owned& one = owned[random() % kBlocksEach];
      pager.scope_begin();
      if (!one.address) {
        one = {nullptr, random(), kBlock * std::int64_t(1 + random() % 2)};
        one.address = pager.allocate(one.bytes, true);
        fill(one.address, one.content, one.bytes);
        const BlockRef ref = pager.find(one.address);
        pager.unpin({&ref, 1});
      } else {
        const BlockRef ref = pager.find(one.address);
        switch (random() % 6) {
          case 0: pager.page_out(ref); break;
          case 1: pager.prefetch(ref); break;
          case 2: pager.poll(); break;
          case 3:
            pager.free(one.address);
            one = {};
            break;
          default: {
            const Pinned pin(pager, one.address);
            if (!is_filled(one.address, one.content, one.bytes)) ++wrong;
            one.content = random();
            fill(one.address, one.content, one.bytes);
          }
        }
      }
      pager.scope_end();
      if (pager.statistics().resident > pager.budget()) ++wrong;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, unsigned(i + 1));
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(pager.statistics().peak_resident, options.budget);
  EXPECT_GT(pager.statistics().page_ins, 0);
}

TEST(Pager, RandomOperationsWithIoUring) {
  run_random_operations(io::FileQueue::Engine::kAuto, {});
}
TEST(Pager, RandomOperationsWithThreads) {
  run_random_operations(io::FileQueue::Engine::kThreads, {});
}
TEST(Pager, RandomOperationsOnASlowDisk) {
  run_random_operations(io::FileQueue::Engine::kAuto, std::chrono::microseconds(300));
}

}  // namespace
}  // namespace tutti::lms
