#include "tutti/comm/transport/shm/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "tutti/comm/transport/shm/internal/segment.h"
#include "tutti/comm/transport/shm/internal/test_process.h"

namespace tutti::comm {
namespace {

using internal::TestProcess;
using ::testing::HasSubstr;

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

TEST(Arena, ReturnsAlignedMemoryAndItsUsableSize) {
  Arena arena;
  for (const std::size_t bytes : {0, 1, 64, 65, 4096, 100000}) {
    for (const std::size_t alignment : {8, 64, 256, 4096, 1 << 21}) {
      std::size_t usable = 0;
      void* address = arena.allocate(bytes, alignment, &usable);
      EXPECT_GE(usable, bytes);
      EXPECT_EQ(number(address) % std::max<std::size_t>(alignment, 64), 0);
      std::memset(address, 0xff, usable);
    }
  }
  EXPECT_THROW(arena.allocate(1, 96), ConfigError);
  EXPECT_THROW(arena.allocate(1, 0), ConfigError);
}

TEST(Arena, BlocksNeverOverlapWhateverTheOrder) {
  Arena arena;
  std::mt19937 random(1);
  std::map<unsigned char*, std::pair<std::size_t, unsigned char>> blocks;
  const auto drop = [&](auto block) {
    const auto [address, content] = *block;
    for (std::size_t i = 0; i < content.first; ++i) ASSERT_EQ(address[i], content.second);
    arena.free(address);
    blocks.erase(block);
  };
  for (int step = 0; step < 2000; ++step) {
    if (blocks.size() > 40 || (step % 3 == 0 && !blocks.empty())) {
      drop(std::next(blocks.begin(), random() % blocks.size()));
      continue;
    }
    const std::size_t bytes = random() % 5000;
    std::size_t usable = 0;
    auto* address = static_cast<unsigned char*>(
        arena.allocate(bytes, std::size_t{64} << random() % 4, &usable));
    const auto fill = static_cast<unsigned char>(step);
    std::memset(address, fill, usable);
    blocks[address] = {usable, fill};
  }
  while (!blocks.empty()) drop(blocks.begin());
  EXPECT_EQ(arena.allocated_bytes(), 0);
}

TEST(Arena, FreedNeighboursAreMerged) {
  Arena arena;
  std::vector<void*> blocks;
  for (int i = 0; i < 63; ++i) blocks.push_back(arena.allocate(kMiB));
  for (const int i : {0, 2, 1}) arena.free(blocks[i]);
  EXPECT_EQ(arena.allocate(3 * kMiB), blocks[0]);
  EXPECT_EQ(arena.allocated_bytes(), 63 * kMiB);
}

TEST(Arena, GrowsBySegments) {
  Arena arena;
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(arena.allocate(40 * kMiB));
    EXPECT_TRUE(arena.find(blocks.back(), 40 * kMiB));
  }
  // 64, 64 and 128 MiB: one block in the first and in the second, two in the third.
  EXPECT_EQ(arena.find(blocks[0], 1)->segment, 0);
  EXPECT_EQ(arena.find(blocks[1], 1)->segment, 1);
  EXPECT_EQ(arena.find(blocks[2], 1)->segment, 2);
  EXPECT_EQ(arena.find(blocks[3], 1)->segment, 2);
  for (void* block : blocks) arena.free(block);
}

TEST(Arena, FindsRangesInsideOneSegmentOnly) {
  Arena arena;
  auto* block = static_cast<std::byte*>(arena.allocate(1000));
  const auto location = arena.find(block + 10, 990);
  ASSERT_TRUE(location);
  EXPECT_EQ(location->offset, arena.find(block, 0)->offset + 10);
  EXPECT_FALSE(arena.find(block, 65 * kMiB));
  EXPECT_FALSE(arena.find(&arena, 1));
  EXPECT_FALSE(arena.find(nullptr, 0));
}

TEST(Arena, RejectsFreeingOtherMemory) {
  Arena arena;
  int foreign = 0;
  auto* block = static_cast<std::byte*>(arena.allocate(1000));
  arena.free(nullptr);
  EXPECT_THROW(arena.free(&foreign), ConfigError);
  EXPECT_THROW(arena.free(block + 64), ConfigError);
  arena.free(block);
  try {
    arena.free(block);
    FAIL() << "freed twice";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.code(), "DDL-5-07");
  }
  EXPECT_EQ(arena.allocated_bytes(), 0);
}

TEST(Arena, AnExcessiveRequestFailsAndLeavesTheArenaUsable) {
  Arena arena;
  EXPECT_THROW(arena.allocate(SIZE_MAX), MemoryError);
  EXPECT_THROW(arena.allocate(1, std::size_t{1} << 63), MemoryError);
  EXPECT_THROW(arena.allocate(std::size_t{8} << 40), MemoryError);
  EXPECT_EQ(arena.allocated_bytes(), 0);
  void* block = arena.allocate(100);
  EXPECT_EQ(arena.find(block, 100)->segment, 0);
}

TEST(Arena, IsSafeFromManyThreads) {
  Arena arena;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&arena, t] {
      for (int i = 0; i < 100; ++i) {
        void* block = arena.allocate(1000 + t);
        std::memset(block, t, 1000);
        EXPECT_TRUE(arena.find(block, 1000));
        arena.free(block);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(arena.allocated_bytes(), 0);
}

TEST(Segment, LargeBlocksReleaseTheirPages) {
  internal::Segment segment(16 * kMiB);
  const auto resident = [&] {
    struct stat status{};
    fstat(segment.memory().handle().fd, &status);
    return static_cast<std::size_t>(status.st_blocks) * 512 / kMiB;  // without the nonce
  };
  const std::size_t large = *segment.take(9 * kMiB, 64);
  ASSERT_TRUE(segment.reserve(large, 9 * kMiB));
  EXPECT_EQ(resident(), 10);  // full granules
  const std::size_t small = *segment.take(1000, 64);
  ASSERT_TRUE(segment.reserve(small, 1000));
  EXPECT_EQ(resident(), 10);
  EXPECT_EQ(segment.give_back(large), 9 * kMiB);
  EXPECT_EQ(resident(), 2);  // the granule of the small block stays
  EXPECT_EQ(segment.give_back(large), std::nullopt);
  EXPECT_EQ(segment.give_back(small), 1000);
  ASSERT_EQ(segment.take(16 * kMiB, 64), 0);
  ASSERT_TRUE(segment.reserve(0, 16 * kMiB));
  EXPECT_EQ(resident(), 16);
}

TEST(PeerArena, OfThisProcessIsTheSameMemory) {
  Arena arena;
  auto* block = static_cast<std::byte*>(arena.allocate(100));
  std::unique_ptr<PeerArena> peer;
  ASSERT_TRUE(PeerArena::open(arena.directory(), &peer));
  std::byte* address = nullptr;
  ASSERT_TRUE(peer->resolve(*arena.find(block + 5, 1), &address));
  EXPECT_EQ(address, block + 5);
  EXPECT_FALSE(peer->resolve({1, 0}, &address));
  EXPECT_FALSE(peer->resolve({-1, 0}, &address));
  EXPECT_FALSE(peer->resolve({0, -1}, &address));
  EXPECT_FALSE(peer->resolve({0, std::int64_t{1} << 40}, &address));
}

TEST(PeerArena, OfAnotherProcessIsReadAndWrittenThereAsItGrows) {
  TestProcess child([](TestProcess& parent) {  // forked before the arena exists, so it must map it
    const auto directory = parent.receive<MemoryHandle>();
    std::unique_ptr<PeerArena> peer;
    if (!PeerArena::open(directory, &peer)) return 1;
    for (int round = 0; round < 3; ++round) {
      std::byte* address = nullptr;
      if (!peer->resolve(parent.receive<Location>(), &address)) return 2;
      if (address[0] != std::byte(round)) return 3;
      address[1] = std::byte(round + 10);
      parent.send(round);
    }
    return 0;
  });
  Arena arena;
  child.send(arena.directory());
  for (int round = 0; round < 3; ++round) {
    auto* block = static_cast<std::byte*>(arena.allocate(40 * kMiB));
    block[0] = std::byte(round);
    child.send(*arena.find(block, 1));
    ASSERT_EQ(child.receive<int>(), round);
    EXPECT_EQ(block[1], std::byte(round + 10));
  }
  EXPECT_EQ(child.join(), 0);
}

TEST(PeerArena, OfAKilledProcessFailsCleanlyAndStaysMapped) {
  TestProcess child([](TestProcess& parent) {
    Arena arena;
    auto* first = static_cast<std::byte*>(arena.allocate(kMiB));
    auto* second = arena.allocate(100 * kMiB);
    first[0] = std::byte{9};
    parent.send(arena.directory());
    parent.send(*arena.find(first, 1));
    parent.send(*arena.find(second, 1));
    parent.receive<int>();
    return 0;
  });
  const auto directory = child.receive<MemoryHandle>();
  const auto first = child.receive<Location>();
  const auto second = child.receive<Location>();
  std::unique_ptr<PeerArena> peer, late;
  ASSERT_TRUE(PeerArena::open(directory, &peer));
  std::byte* address = nullptr;
  ASSERT_TRUE(peer->resolve(first, &address));
  EXPECT_EQ(child.end(SIGKILL), 128 + SIGKILL);
  EXPECT_EQ(address[0], std::byte{9});
  EXPECT_FALSE(peer->resolve(second, &address)) << "not mapped before it died";
  peer.reset();
  EXPECT_FALSE(PeerArena::open(directory, &late));
}

TEST(PeerArena, RejectsMemoryOutsideOfArenas) {
  const auto memory = SharedMemory::create(100);
  std::unique_ptr<PeerArena> peer;
  const Result result = PeerArena::open(memory->handle(), &peer);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.code(), "DDL-5-08");
}

TEST(Arena, BelongsToTheParentAfterAFork) {
  Arena arena;
  auto* block = static_cast<std::byte*>(arena.allocate(8 * kMiB));
  block[0] = block[5 * kMiB] = std::byte{1};
  TestProcess child([&](TestProcess&) {
    if (block[5 * kMiB] != std::byte{1}) return 1;
    block[0] = std::byte{2};
    arena.free(block);
    try {
      arena.allocate(1);
    } catch (const MemoryError& error) {
      return std::string(error.what()).find("spawn") != std::string::npos ? 0 : 2;
    }
    return 3;
  });
  EXPECT_EQ(child.join(), 0);
  EXPECT_EQ(block[0], std::byte{2});
  EXPECT_EQ(block[5 * kMiB], std::byte{1});
  EXPECT_EQ(arena.allocated_bytes(), 8 * kMiB);
}

}  // namespace
}  // namespace tutti::comm
