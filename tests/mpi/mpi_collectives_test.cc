#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/mpi/mpi_test_main.h"
#include "tutti/comm/transport/vendor.h"

namespace tutti::comm {
namespace {

using plan::Collective;

VendorCollectives& vendor() {
  return *mpi_under_test().vendor();
}

// Waits until the work has completed.
Result run(Collective collective, std::span<const int> group, const void* input, void* output,
           std::span<const std::int64_t> counts, DType dtype, ReduceOp op) {
  std::unique_ptr<Transfer> running;
  Result outcome = vendor().start(collective, group, input, output, counts, dtype, op, &running);
  for (bool finished = !running; outcome && !finished;) outcome = running->test(&finished);
  return outcome;
}

std::vector<int> everyone() {
  std::vector<int> ranks(static_cast<std::size_t>(mpi_under_test().size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

template <class T>
void expect_reductions() {
  const int rank = mpi_under_test().rank(), size = mpi_under_test().size();
  const DType dtype = DTypeOf<T>::value;
  const std::int64_t counts[] = {3};
  const auto reduce = [&](ReduceOp op) {
    std::vector<T> values = {T(rank + 1), T(2), T(size - rank)};
    run(Collective::kAllReduce, everyone(), values.data(), values.data(), counts, dtype, op)
        .throw_if_error();
    return values;
  };
  const T triangle = T(size * (size + 1) / 2);
  EXPECT_EQ(reduce(ReduceOp::kSum), (std::vector<T>{triangle, T(2 * size), triangle}));
  EXPECT_EQ(reduce(ReduceOp::kMin), (std::vector<T>{1, 2, 1}));
  EXPECT_EQ(reduce(ReduceOp::kMax), (std::vector<T>{T(size), 2, T(size)}));
  T factorial = 1;
  for (int i = 2; i <= size; ++i) factorial = T(factorial * i);
  EXPECT_EQ(reduce(ReduceOp::kProduct), (std::vector<T>{factorial, T(1 << size), factorial}));
}

TEST(MpiCollectives, AllReduceEveryTypeAndOperation) {
  expect_reductions<float>();
  expect_reductions<double>();
  expect_reductions<std::int8_t>();
  expect_reductions<std::uint8_t>();
  expect_reductions<std::int32_t>();
  expect_reductions<std::int64_t>();
}

TEST(MpiCollectives, ReportUnsupportedCalls) {
  EXPECT_FALSE(vendor().supports(Collective::kAllReduce, DType::kBF16, ReduceOp::kSum));
  EXPECT_FALSE(vendor().supports(Collective::kAllReduce, DType::kF32, ReduceOp::kAverage));
  EXPECT_FALSE(vendor().supports(Collective::kBroadcast, DType::kF32, ReduceOp::kSum));
  Half value{};
  const std::int64_t counts[] = {1};
  const Result result =
      run(Collective::kAllReduce, everyone(), &value, &value, counts, DType::kF16, ReduceOp::kSum);
  ASSERT_FALSE(result.is_ok());
  EXPECT_EQ(result.code(), "DDL-6-16");
}

// Pieces of 0, 1, 2, ... elements. Element i of rank r is 100 r + i.
struct UnevenPieces {
  explicit UnevenPieces(const std::vector<int>& group) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      counts.push_back(static_cast<std::int64_t>(i));
      if (group[i] == mpi_under_test().rank()) {
        offset = total;
        mine = static_cast<std::int64_t>(i);
      }
      total += static_cast<std::int64_t>(i);
    }
  }
  std::vector<std::int64_t> counts;
  std::int64_t offset = 0, mine = 0, total = 0;
};

TEST(MpiCollectives, ReduceScatterInAndOutOfPlace) {
  const std::vector<int> group = everyone();
  const UnevenPieces pieces(group);
  const int size = mpi_under_test().size();
  for (const bool in_place : {false, true}) {
    std::vector<std::int64_t> whole(static_cast<std::size_t>(pieces.total));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      whole[i] = 100 * mpi_under_test().rank() + static_cast<std::int64_t>(i);
    }
    std::vector<std::int64_t> piece(static_cast<std::size_t>(pieces.mine));
    std::int64_t* const output = in_place ? whole.data() + pieces.offset : piece.data();
    run(Collective::kReduceScatter, group, whole.data(), output, pieces.counts, DType::kI64,
        ReduceOp::kSum)
        .throw_if_error();
    for (std::int64_t i = 0; i < pieces.mine; ++i) {
      EXPECT_EQ(output[i], 100 * size * (size - 1) / 2 + size * (pieces.offset + i));
    }
  }
}

TEST(MpiCollectives, AllGatherInAndOutOfPlace) {
  const std::vector<int> group = everyone();
  const UnevenPieces pieces(group);
  for (const bool in_place : {false, true}) {
    std::vector<std::int32_t> whole(static_cast<std::size_t>(pieces.total), -1);
    std::vector<std::int32_t> piece(static_cast<std::size_t>(pieces.mine));
    std::int32_t* const input = in_place ? whole.data() + pieces.offset : piece.data();
    for (std::int64_t i = 0; i < pieces.mine; ++i) {
      input[i] = static_cast<std::int32_t>(pieces.offset + i);
    }
    run(Collective::kAllGather, group, input, whole.data(), pieces.counts, DType::kI32,
        ReduceOp::kSum)
        .throw_if_error();
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(whole[i], static_cast<int>(i));
  }
}

TEST(MpiCollectives, GroupsWorkConcurrentlyInAnyOrder) {
  const int rank = mpi_under_test().rank(), size = mpi_under_test().size();
  std::vector<int> group;  // ranks of the same parity, in descending order
  for (int member = size - 1; member >= 0; --member) {
    if (member % 2 == rank % 2) group.push_back(member);
  }
  const std::vector<std::int64_t> counts(group.size(), 1);
  for (int round = 0; round < 3; ++round) {
    const float mine = static_cast<float>(10 * rank + round);
    std::vector<float> whole(group.size());
    run(Collective::kAllGather, group, &mine, whole.data(), counts, DType::kF32, ReduceOp::kSum)
        .throw_if_error();
    for (std::size_t i = 0; i < group.size(); ++i) {
      EXPECT_EQ(whole[i], static_cast<float>(10 * group[i] + round));
    }
  }
}

}  // namespace
}  // namespace tutti::comm
