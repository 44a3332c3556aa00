// Operations beyond the size of one chunk of staging memory.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/comm/internal/testing.h"
#include "tutti/comm/transport/shm/arena.h"

namespace tutti::comm {
namespace {

using Hosts = std::vector<std::string>;

// In memory that peers cannot map.
class LargeVectors : public testing::TestWithParam<Hosts> {};
INSTANTIATE_TEST_SUITE_P(Grids, LargeVectors, testing::Values(host_names({2}), host_names({2, 1})),
                         [](const auto& test) {
                           return "ranks" + std::to_string(test.param.size());
                         });

TEST_P(LargeVectors, LeaveLittleStagingMemoryBehind) {
  constexpr std::int64_t kCount = (100 << 20) / 4 + 7;  // 100 MiB of i32
  constexpr std::size_t kMostBytes = std::size_t{96} << 20;
  run_ranks(GetParam(), [&](Communicator& comm) {
    const int n = comm.size(), root = n - 1;
    std::vector<std::int32_t> values(kCount);
    const auto fill = [&](int offset) {
      for (std::int64_t i = 0; i < kCount; ++i) {
        values[i] = static_cast<std::int32_t>(i % 1000003) + offset;
      }
    };
    const auto expect = [&](int factor, int sum) {
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < kCount; i += 61) {
        wrong += values[i] != factor * static_cast<std::int32_t>(i % 1000003) + sum;
      }
      EXPECT_EQ(wrong, 0);
    };
    const Buffer buffer = Buffer::of(std::span(values));
    fill(comm.rank());
    comm.broadcast(buffer, root);
    expect(1, root);
    EXPECT_LE(comm.arena()->allocated_bytes(), kMostBytes);
    fill(comm.rank());
    comm.all_reduce(buffer);
    expect(n, n * (n - 1) / 2);
    EXPECT_LE(comm.arena()->allocated_bytes(), kMostBytes);
    fill(comm.rank());
    comm.reduce(buffer, comm.rank() == root ? buffer : Buffer{}, ReduceOp::kSum, root);
    if (comm.rank() == root) expect(n, n * (n - 1) / 2);
    EXPECT_LE(comm.arena()->allocated_bytes(), kMostBytes);
    const std::int64_t piece = kCount / n;
    std::vector<std::int32_t> all(static_cast<std::size_t>(piece * n), -1);
    comm.all_gather(ConstBuffer(values.data(), piece, DType::kI32), Buffer::of(std::span(all)));
    EXPECT_LE(comm.arena()->allocated_bytes(), kMostBytes);
  });
}

}  // namespace
}  // namespace tutti::comm
