#include "tutti/torch_backend/block_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace tutti::torch_backend {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(BlockCache, ReusesMemory) {
  BlockCache cache(std::make_shared<comm::Arena>());
  void* const first = cache.take(4 * kMiB);
  void* const second = cache.take(4 * kMiB);
  EXPECT_NE(first, second);
  EXPECT_TRUE(cache.give_back(first));
  EXPECT_EQ(cache.take(4 * kMiB - 100), first);
  EXPECT_TRUE(cache.give_back(second));
  EXPECT_TRUE(cache.arena()->find(first, 4 * kMiB));
}

TEST(BlockCache, RecognisesMemoryOfOthers) {
  BlockCache cache(std::make_shared<comm::Arena>());
  int other = 0;
  EXPECT_FALSE(cache.give_back(&other));
  void* const block = cache.take(kMiB);
  EXPECT_TRUE(cache.give_back(block));
  EXPECT_FALSE(cache.give_back(block));
}

TEST(BlockCache, KeepsAtMostItsLimit) {
  BlockCache cache(std::make_shared<comm::Arena>(), nullptr, 3 * kMiB);
  void* const first = cache.take(2 * kMiB);
  void* const second = cache.take(2 * kMiB);
  cache.give_back(first);
  cache.give_back(second);
  EXPECT_EQ(cache.arena()->allocated_bytes(), 2 * kMiB);
}

TEST(BlockCache, BlocksAreSlightlyLargerThanRequested) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, 3 * kMiB + 1, 7 * kMiB}) {
    const std::size_t size = BlockCache::block_bytes(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_LE(size, bytes + std::max<std::size_t>(4096, bytes / 8));
  }
}

TEST(BlockCache, AForkedChildTakesNothing) {
  BlockCache cache(std::make_shared<comm::Arena>());
  void* const block = cache.take(kMiB);
  void* const kept = cache.take(kMiB);
  cache.give_back(kept);
  const pid_t child = fork();
  if (child == 0) {
    int other = 0;
    _exit(cache.take(kMiB) == nullptr && cache.give_back(block) && !cache.give_back(&other) ? 0
                                                                                            : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(cache.give_back(block));
}

TEST(BlockCache, ReturnsNullIfMemoryIsExhausted) {
  BlockCache cache(std::make_shared<comm::Arena>());
  EXPECT_EQ(cache.take(std::size_t{1} << 60), nullptr);
}

}  // namespace
}  // namespace tutti::torch_backend
