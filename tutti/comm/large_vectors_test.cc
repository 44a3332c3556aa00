// Operations beyond the size of one chunk of staging memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/comm/testing.h"
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

// The output of the first rank starts at the address of its input but is shorter, so staged data of one does not fit
// into the other.
TEST(InPlace, ReduceScatterStaysInItsStagingMemory) {
  run_ranks(host_names({2}), [](Communicator& comm) {
    constexpr std::int64_t kCount = 100'000;
    std::vector<std::int32_t> values(2 * kCount, 1);
    const ConstBuffer input(values.data(), 2 * kCount, DType::kI32);
    const Buffer output(values.data() + comm.rank() * kCount, kCount, DType::kI32);
    comm.reduce_scatter(input, output);
    auto* behind = static_cast<std::int32_t*>(comm.allocate(kCount * 8));
    std::fill_n(behind, 2 * kCount, -1);
    comm.reduce_scatter(input, output);
    EXPECT_EQ(std::count(behind, behind + 2 * kCount, -1), 2 * kCount);
    comm.free(behind);
  });
}

// Pieces of different lengths, one of them empty; three chunks of staging memory in total.
class LargePieces : public testing::TestWithParam<Hosts> {
 protected:
  using Counts = std::vector<std::int64_t>;
  using Values = std::vector<std::int32_t>;
  static constexpr std::int64_t kTotal = (100 << 20) / 4 + 7;  // elements of i32
  static constexpr std::size_t kMostBytes = std::size_t{96} << 20;

  static Counts uneven(int ranks) {
    Counts counts(static_cast<std::size_t>(ranks), kTotal / ranks);
    if (ranks > 2) counts[1] = 0;
    counts.back() -= 1001;
    counts[0] = kTotal - std::accumulate(counts.begin() + 1, counts.end(), std::int64_t{0});
    return counts;
  }
  static Counts equal(int ranks) { return Counts(static_cast<std::size_t>(ranks), kTotal / ranks); }
  static std::int64_t begin_of(const Counts& counts, int rank) {
    return std::accumulate(counts.begin(), counts.begin() + rank, std::int64_t{0});
  }
  // Element `i` of the vector of `rank`.
  static std::int32_t value(std::int64_t i, int rank) {
    return static_cast<std::int32_t>((i * 7 + rank * 1009) % 1000003);
  }
  static void fill(std::span<std::int32_t> values, std::int64_t begin, int rank) {
    for (std::int64_t i = 0; i < std::ssize(values); ++i) values[i] = value(begin + i, rank);
  }
  // Compares a sample of the elements, and all near the ends.
  template <class Expected>
  static void expect_values(std::span<const std::int32_t> values, const Expected& expected) {
    std::int64_t wrong = 0;
    const std::int64_t count = std::ssize(values);
    for (std::int64_t i = 0; i < count; i += i < 100 || i > count - 100 ? 1 : 61) {
      wrong += values[i] != expected(i);
    }
    EXPECT_EQ(wrong, 0);
  }
  // All pieces, each with the values of its rank.
  static void expect_gathered(std::span<const std::int32_t> all, const Counts& counts) {
    for (int r = 0; r < static_cast<int>(counts.size()); ++r) {
      const std::int64_t begin = begin_of(counts, r);
      expect_values(all.subspan(begin, counts[r]),
                    [&](std::int64_t i) { return value(begin + i, r); });
    }
  }
  static ConstBuffer reading(std::span<const std::int32_t> values) {
    return {values.data(), std::ssize(values), DType::kI32};
  }

  // Runs `body` with counts of each kind and checks that staging took little memory.
  template <class Body>
  static void for_all_counts(const Body& body) {
    run_ranks(GetParam(), [&](Communicator& comm) {
      for (const Counts& counts : {uneven(comm.size()), equal(comm.size())}) {
        comm.arena()->reset_peak();
        body(comm, counts);
        EXPECT_LE(comm.arena()->peak_bytes(), kMostBytes);
      }
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Grids, LargePieces, testing::Values(host_names({3}), host_names({2, 1})),
                         [](const auto& test) {
                           std::string name;
                           for (const std::string& host : test.param) name += host.back();
                           return "on" + name;
                         });

TEST_P(LargePieces, AllGather) {
  for_all_counts([](Communicator& comm, const Counts& counts) {
    const std::int64_t begin = begin_of(counts, comm.rank()), mine = counts[comm.rank()];
    Values piece(mine), all(begin_of(counts, comm.size()), -1);
    fill(piece, begin, comm.rank());
    comm.all_gather(reading(piece), Buffer::of(std::span(all)), counts);
    expect_gathered(all, counts);
    std::ranges::fill(all, -1);
    const auto own = std::span(all).subspan(begin, mine);
    fill(own, begin, comm.rank());
    comm.all_gather(reading(own), Buffer::of(std::span(all)), counts);
    expect_gathered(all, counts);
  });
}

TEST_P(LargePieces, ReduceScatter) {
  for_all_counts([](Communicator& comm, const Counts& counts) {
    const std::int64_t begin = begin_of(counts, comm.rank()), mine = counts[comm.rank()];
    const auto sum = [&](std::int64_t i) {
      std::int32_t all = 0;
      for (int r = 0; r < comm.size(); ++r) all += value(begin + i, r);
      return all;
    };
    Values all(begin_of(counts, comm.size())), piece(mine, -1);
    fill(all, 0, comm.rank());
    comm.reduce_scatter(reading(all), Buffer::of(std::span(piece)), ReduceOp::kSum, counts);
    expect_values(piece, sum);
    const auto own = std::span(all).subspan(begin, mine);
    comm.reduce_scatter(reading(all), Buffer::of(own), ReduceOp::kSum, counts);
    expect_values(own, sum);
  });
}

TEST_P(LargePieces, GatherAndScatter) {
  for_all_counts([](Communicator& comm, const Counts& counts) {
    const int root = comm.size() - 1;
    const bool is_root = comm.rank() == root;
    const std::int64_t begin = begin_of(counts, comm.rank()), mine = counts[comm.rank()];
    Values piece(mine), all(is_root ? begin_of(counts, comm.size()) : 0, -1);
    fill(piece, begin, comm.rank());
    comm.gather(reading(piece), is_root ? Buffer::of(std::span(all)) : Buffer{}, root, counts);
    if (is_root) expect_gathered(all, counts);
    std::ranges::fill(piece, -1);
    comm.scatter(is_root ? reading(all) : ConstBuffer{}, Buffer::of(std::span(piece)), root,
                 counts);
    expect_values(piece, [&](std::int64_t i) { return value(begin + i, comm.rank()); });
  });
}

TEST_P(LargePieces, AllToAll) {
  for_all_counts([](Communicator& comm, const Counts& counts) {
    const std::int64_t count = counts.back();
    Values input(count * comm.size()), output(count * comm.size(), -1);
    fill(input, 0, comm.rank());
    comm.all_to_all(reading(input), Buffer::of(std::span(output)));
    for (int r = 0; r < comm.size(); ++r) {
      expect_values(std::span(output).subspan(r * count, count),
                    [&](std::int64_t i) { return value(comm.rank() * count + i, r); });
    }
  });
}

// One rank passes library memory, the others do not: all ranks use the same chunks.
TEST_P(LargePieces, OfDifferentMemory) {
  run_ranks(GetParam(), [&](Communicator& comm) {
    const Counts counts = uneven(comm.size());
    const std::int64_t begin = begin_of(counts, comm.rank()), mine = counts[comm.rank()];
    const bool is_library = comm.rank() == 0;
    Values ordinary(is_library ? 0 : kTotal);
    auto* memory = is_library ? static_cast<std::int32_t*>(comm.allocate(kTotal * 4)) : nullptr;
    const auto all = is_library ? std::span(memory, kTotal) : std::span(ordinary);
    const auto own = all.subspan(begin, mine);
    fill(own, begin, comm.rank());
    comm.all_gather(reading(own), Buffer::of(all), counts);
    expect_gathered(all, counts);
    comm.free(memory);
  });
}

// Library memory is not staged.
TEST_P(LargePieces, OfLibraryMemory) {
  run_ranks(GetParam(), [&](Communicator& comm) {
    const Counts counts = uneven(comm.size());
    const std::int64_t begin = begin_of(counts, comm.rank()), mine = counts[comm.rank()];
    auto* memory = static_cast<std::int32_t*>(comm.allocate(kTotal * 4));
    const std::span all(memory, kTotal);
    const auto own = all.subspan(begin, mine);
    fill(own, begin, comm.rank());
    comm.arena()->reset_peak();
    const std::size_t before = comm.arena()->allocated_bytes();
    comm.all_gather(reading(own), Buffer::of(all), counts);
    EXPECT_LE(comm.arena()->peak_bytes() - before, std::size_t{1} << 20);
    expect_gathered(all, counts);
    comm.free(memory);
  });
}

// The order of reductions, and therefore the result, is bitwise identical to that of a single operation.
TEST_P(LargePieces, HaveTheSameBitsInChunks) {
  run_ranks(GetParam(), [&](Communicator& comm) {
    const Counts counts = uneven(comm.size());
    const std::int64_t mine = counts[comm.rank()];
    std::vector<float> input(kTotal), chunked(mine);
    for (std::int64_t i = 0; i < kTotal; ++i) {
      input[i] = 1.0F / static_cast<float>(1 + value(i, comm.rank()));
    }
    comm.reduce_scatter(ConstBuffer::of(std::span<const float>(input)),
                        Buffer::of(std::span(chunked)), ReduceOp::kSum, counts);
    auto* library = static_cast<float*>(comm.allocate(kTotal * 4));
    auto* whole = static_cast<float*>(comm.allocate(mine * 4));
    std::memcpy(library, input.data(), kTotal * 4);
    comm.reduce_scatter(ConstBuffer(library, kTotal, DType::kF32), Buffer(whole, mine, DType::kF32),
                        ReduceOp::kSum, counts);
    const std::span<const float> at_once(whole, static_cast<std::size_t>(mine));
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(at_once), std::as_bytes(std::span(chunked))));
    comm.free(library);
    comm.free(whole);
  });
}

}  // namespace
}  // namespace tutti::comm
