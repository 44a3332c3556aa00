// The pager on device memory and pinned slabs, over a driver in host memory (fake_driver.cc).
#include "tutti/lms/pager/cuda/cuda_tiers.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tutti/core/test_error.h"
#include "tutti/lms/pager/test_blocks.h"

namespace tutti::lms::cuda {
namespace {

using testing::AllOf, testing::HasSubstr;

constexpr std::int64_t kDeviceBlock = 4 << 20;
constexpr const char* kLibrary = TUTTI_FAKE_CUDA_DRIVER;

// Functions of the fake driver for tests.
class FakeDriver {
 public:
  void launch(void (*kernel)(void*), void* argument) {
    find<void(Stream, void (*)(void*), void*)>("fake_launch")(nullptr, kernel, argument);
  }
  void set_capacity(std::size_t bytes) { find<void(std::size_t)>("fake_set_capacity")(bytes); }
  std::size_t used() { return find<std::size_t()>("fake_used")(); }

 private:
  template <typename Function>
  Function* find(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(library_, name));
  }
  void* const library_ = ::dlopen(kLibrary, RTLD_NOW);
};

class CudaTiers : public testing::Test {
 protected:
  ~CudaTiers() override { fake_.set_capacity(SIZE_MAX); }

  PagerOptions options(std::int64_t blocks) {
    PagerOptions options;
    options.budget = blocks * kDeviceBlock;
    options.address_space = std::int64_t{1} << 34;
    options.pin_timeout = 0;
    return options;
  }
  std::byte* filled_block(Pager& pager, std::uint64_t seed) {
    std::byte* const block = pager.allocate(kDeviceBlock);
    fill(block, seed, kDeviceBlock);
    return block;
  }

  FakeDriver fake_;
  const Driver driver_{kLibrary};
};

TEST_F(CudaTiers, KeepAddressesAndContentOfMoreThanTheBudget) {
  Pager pager(options(4), make_tiers(driver_));
  std::vector<std::byte*> blocks;
  for (std::uint64_t i = 0; i < 20; ++i) blocks.push_back(filled_block(pager, i));
  EXPECT_LE(fake_.used(), std::size_t{4 * kDeviceBlock});
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Pinned pin(pager, blocks[i]);
    EXPECT_TRUE(is_filled(blocks[i], i, kDeviceBlock)) << i;
  }
  const PagerStatistics statistics = pager.statistics();
  EXPECT_LE(statistics.peak_resident, 4 * kDeviceBlock);
  EXPECT_LE(fake_.used(), std::size_t{4 * kDeviceBlock});
  EXPECT_GE(statistics.evictions, 16);
  EXPECT_EQ(statistics.faults, 0);
}

TEST_F(CudaTiers, PageOutsWaitForKernelsThatWereLaunchedBefore) {
  Pager pager(options(2), make_tiers(driver_));
  std::byte* const block = filled_block(pager, 1);
  {
    const Pinned pin(pager, block);
    fake_.launch([](void* data) { fill(static_cast<std::byte*>(data), 2, kDeviceBlock); }, block);
  }
  move_out(pager, block);
  EXPECT_EQ(pager.statistics().out, kDeviceBlock);
  const Pinned pin(pager, block);
  EXPECT_TRUE(is_filled(block, 2, kDeviceBlock));
}

TEST_F(CudaTiers, MemoryOfFreedBlocksIsKeptUntilKernelsHaveEnded) {
  Pager pager(options(2), make_tiers(driver_));
  std::byte* const freed = filled_block(pager, 1);
  static bool has_run;
  has_run = false;
  const auto kernel = [](void* data) {
    fill(static_cast<std::byte*>(data), 3, kDeviceBlock);
    has_run = true;
  };
  fake_.launch(kernel, freed);
  pager.free(freed);
  pager.allocate(2 * kDeviceBlock);  // needs the memory of the freed block
  EXPECT_TRUE(has_run);
}

TEST_F(CudaTiers, PrefetchedAndRecomputedBlocksKeepTheirAddress) {
  Pager pager(options(3), make_tiers(driver_));
  std::byte* const block = filled_block(pager, 7);
  move_out(pager, block);
  EXPECT_TRUE(pager.prefetch(pager.find(block)));
  pager.finish_read(pager.find(block));
  EXPECT_TRUE(is_filled(block, 7, kDeviceBlock));
  pager.set_restorer([&](BlockRef dropped) {
    std::byte* const source = filled_block(pager, 7);
    pager.restore(dropped, pager.find(source));
    pager.free(source);
  });
  ASSERT_TRUE(pager.drop(pager.find(block)));
  const Pinned pin(pager, block);
  EXPECT_TRUE(is_filled(block, 7, kDeviceBlock));
}

TEST_F(CudaTiers, SegmentsLeaveDeviceMemoryIndependently) {
  Pager pager(options(2), make_tiers(driver_));
  std::byte* const segments = pager.allocate_segments(3 * kDeviceBlock, kDeviceBlock);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Pinned pin(pager, segments + i * kDeviceBlock);
    fill(segments + i * kDeviceBlock, i, kDeviceBlock);
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Pinned pin(pager, segments + i * kDeviceBlock);
    EXPECT_TRUE(is_filled(segments + i * kDeviceBlock, i, kDeviceBlock)) << i;
  }
}

TEST_F(CudaTiers, AllMemoryIsReleased) {
  {
    Pager pager(options(4), make_tiers(driver_));
    for (std::uint64_t i = 0; i < 6; ++i) filled_block(pager, i);
    EXPECT_GT(fake_.used(), 0U);
  }
  EXPECT_EQ(fake_.used(), 0U);
}

TEST_F(CudaTiers, AFullDeviceIsReported) {
  fake_.set_capacity(std::size_t{2 * kDeviceBlock});
  Pager pager(options(4), make_tiers(driver_));
  pager.allocate(kDeviceBlock);
  pager.allocate(kDeviceBlock);
  EXPECT_THAT(error_of([&] { pager.allocate(kDeviceBlock); }),
              AllOf(HasSubstr("DDL-5-79"), HasSubstr("out of memory")));
}

TEST(CudaDriver, AMissingDriverOrDeviceIsReported) {
  EXPECT_THAT(error_of([] { Driver("libno-such-driver.so"); }),
              AllOf(HasSubstr("DDL-5-78"), HasSubstr("libno-such-driver")));
  EXPECT_THAT(error_of([] { Driver(kLibrary, 5); }),
              AllOf(HasSubstr("DDL-5-78"), HasSubstr("device 5")));
}

}  // namespace
}  // namespace tutti::lms::cuda
