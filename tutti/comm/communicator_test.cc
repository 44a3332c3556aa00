#include "tutti/comm/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "tutti/comm/testing.h"
#include "tutti/comm/transport/shm/arena.h"
#include "tutti/core/error.h"

namespace tutti::comm {
namespace {

using Hosts = std::vector<std::string>;

struct Case {
  std::string name;
  Hosts hosts;
  std::string options;
};

std::vector<Case> cases() {
  return {{"alone", host_names({1}), ""},
          {"two", host_names({2}), ""},
          {"three", host_names({3}), ""},
          {"seven", host_names({7}), ""},
          {"two_hosts", host_names({2, 2}), ""},
          {"two_hosts_round_robin", host_names({2, 2}, true), ""},
          {"four_hosts_round_robin", host_names({2, 2, 2, 2}, true), ""},
          {"uneven", host_names({3, 1, 2}), ""},
          {"one_each", host_names({1, 1, 1}), ""},
          {"ring", host_names({2, 2}), "-mode r:4"},
          {"ring_on_host", host_names({3}), "-mode r:3"},
          {"recursive", host_names({5}), "-mode c:5"},
          {"grid", host_names({8}), "-mode b:2x2x2"},
          {"host_eager", host_names({3}), "-algorithm host_eager"},
          {"host_staged", host_names({3}), "-algorithm host_staged"},
          {"reproducible", host_names({2, 1, 2}), "-reproducible 1"}};
}

class Collectives : public testing::TestWithParam<Case> {
 protected:
  void run(const std::function<void(Communicator&)>& body) {
    run_ranks(GetParam().hosts, body, test_options(GetParam().options));
  }
};

INSTANTIATE_TEST_SUITE_P(Grids, Collectives, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

// Elements of one rank in library-allocated or caller-allocated memory.
class Memory {
 public:
  Memory(Communicator& communicator, std::int64_t count, bool in_library)
      : communicator_(communicator),
        count_(count),
        foreign_(in_library ? 0 : static_cast<std::size_t>(count)) {
    data_ = in_library
                ? static_cast<float*>(communicator.allocate(static_cast<std::size_t>(count) * 4))
                : foreign_.data();
    in_library_ = in_library;
  }
  ~Memory() {
    if (in_library_) communicator_.free(data_);
  }
  Buffer buffer() { return {data_, count_, DType::kF32}; }
  std::span<float> values() { return {data_, static_cast<std::size_t>(count_)}; }

 private:
  Communicator& communicator_;
  std::int64_t count_;
  std::vector<float> foreign_;
  float* data_ = nullptr;
  bool in_library_ = false;
};

float value_of(int rank, std::int64_t index) {
  return static_cast<float>((rank + 1) * (index % 91 + 1));
}

const std::vector<std::int64_t> kCounts = {0, 1, 5, 1000, 20011, 300007};

TEST_P(Collectives, AllReduceInPlaceAndOutOfPlace) {
  run([](Communicator& comm) {
    const int n = comm.size();
    for (const std::int64_t count : kCounts) {
      for (const int way : {0, 1, 2, 3}) {
        Memory input(comm, count, way & 1), output(comm, count, way & 2);
        for (std::int64_t i = 0; i < count; ++i) input.values()[i] = value_of(comm.rank(), i);
        comm.all_reduce(input.buffer(), output.buffer(), ReduceOp::kSum);
        comm.all_reduce(input.buffer(), ReduceOp::kAverage, {.name = "average"});
        for (std::int64_t i = 0; i < count; ++i) {
          const float sum = static_cast<float>(n * (n + 1) / 2) * static_cast<float>(i % 91 + 1);
          ASSERT_EQ(output.values()[i], sum) << count << " " << i;
          ASSERT_FLOAT_EQ(input.values()[i], sum / static_cast<float>(n));
        }
      }
    }
  });
}

// The exact average of the values of all ranks for an element, rounded towards zero.
template <class T>
T average_of(int ranks, std::int64_t index, T (*value)(int, std::int64_t)) {
  __extension__ __int128 sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += value(rank, index);
  return static_cast<T>(sum / ranks);
}

// Close to both ends of the range, so any sum of two elements overflows; includes negative averages with remainders.
template <class T>
T extreme_value(int rank, std::int64_t index) {
  const T distance = static_cast<T>((7 * rank + index) % 51);
  if (index % 3 == 0) return static_cast<T>(std::numeric_limits<T>::min() + distance);
  if (index % 3 == 1) return static_cast<T>(std::numeric_limits<T>::max() - distance);
  return static_cast<T>(rank % 2 ? -distance : 2 - distance);
}

template <class T>
void check_integer_averages(Communicator& comm) {
  const int n = comm.size();
  const auto want = [&](std::int64_t i) { return average_of<T>(n, i, extreme_value<T>); };
  for (const std::int64_t count : {1, 1000, 600'001}) {
    const std::int64_t total = count * (count > 1000 ? 1 : n);
    const std::int64_t stride = count > 1000 ? 37 : 1;  // stride of the checked elements
    std::vector<T> values(static_cast<std::size_t>(total)), piece(values.size() / n + 1);
    for (std::int64_t i = 0; i < total; ++i) values[i] = extreme_value<T>(comm.rank(), i);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(n), total / n);
    counts.back() += total % n;
    piece.resize(static_cast<std::size_t>(counts[comm.rank()]));
    comm.reduce_scatter(ConstBuffer::of(std::span<const T>(values)), Buffer::of(std::span(piece)),
                        ReduceOp::kAverage, counts);
    const std::int64_t begin = comm.rank() * (total / n);
    for (std::int64_t i = 0; i < counts[comm.rank()]; i += stride) {
      ASSERT_EQ(+piece[i], +want(begin + i)) << count << " " << i;
    }
    std::vector<T> reduced(values.size());
    comm.reduce(ConstBuffer::of(std::span<const T>(values)), Buffer::of(std::span(reduced)),
                ReduceOp::kAverage, n - 1);
    comm.all_reduce(Buffer::of(std::span(values)), ReduceOp::kAverage);
    for (std::int64_t i = 0; i < total; i += stride) {
      ASSERT_EQ(+values[i], +want(i)) << count << " " << i;
      if (comm.rank() == n - 1) {
        ASSERT_EQ(+reduced[i], +want(i)) << count << " " << i;
      }
    }
  }
}

TEST_P(Collectives, AveragesOfIntegersDoNotOverflow) {
  run([](Communicator& comm) {
    check_integer_averages<std::uint8_t>(comm);
    check_integer_averages<std::int8_t>(comm);
    check_integer_averages<std::int32_t>(comm);
    check_integer_averages<std::int64_t>(comm);
  });
}

TEST_P(Collectives, EveryTypeAndOperation) {
  run([](Communicator& comm) {
    for (int t = 0; t < kDTypeCount; ++t) {
      for (const ReduceOp op :
           {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
        const auto dtype = static_cast<DType>(t);
        std::vector<std::byte> bytes(97 * size_of(dtype));
        const auto one = [&](int i, double v) {
          std::byte* at = bytes.data() + static_cast<std::size_t>(i) * size_of(dtype);
          const auto put = [&](auto x) { std::memcpy(at, &x, sizeof x); };
          if (dtype == DType::kF32) put(static_cast<float>(v));
          if (dtype == DType::kF64) put(v);
          if (dtype == DType::kF16) put(to_half(static_cast<float>(v)));
          if (dtype == DType::kBF16) put(to_bfloat16(static_cast<float>(v)));
          if (dtype == DType::kI8) put(static_cast<std::int8_t>(v));
          if (dtype == DType::kU8) put(static_cast<std::uint8_t>(v));
          if (dtype == DType::kI32) put(static_cast<std::int32_t>(v));
          if (dtype == DType::kI64) put(static_cast<std::int64_t>(v));
        };
        for (int i = 0; i < 97; ++i) one(i, 1 + (comm.rank() + i) % 2);
        comm.all_reduce({bytes.data(), 97, dtype}, op);
        const std::vector<std::byte> got = bytes;
        for (int i = 0; i < 97; ++i) {
          double want = op == ReduceOp::kSum ? 0 : 1;
          if (op == ReduceOp::kMin) want = 2;
          for (int r = 0; r < comm.size(); ++r) {
            const double v = 1 + (r + i) % 2;
            if (op == ReduceOp::kSum) want += v;
            if (op == ReduceOp::kProduct) want *= v;
            if (op == ReduceOp::kMin) want = std::min(want, v);
            if (op == ReduceOp::kMax) want = std::max(want, v);
          }
          one(i, want);
        }
        ASSERT_EQ(got, bytes) << name_of(dtype) << " " << name_of(op);
      }
    }
  });
}

TEST_P(Collectives, PiecesReachTheirRanks) {
  run([](Communicator& comm) {
    const int n = comm.size();
    for (const int way : {0, 3}) {
      std::vector<std::int64_t> counts;
      for (int r = 0; r < n; ++r) counts.push_back((r * 7) % 5 * 100 + r % 2);
      const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
      const std::int64_t own = counts[comm.rank()];
      const std::int64_t before =
          std::accumulate(counts.begin(), counts.begin() + comm.rank(), std::int64_t{0});

      Memory whole(comm, total, way & 1), piece(comm, own, way & 2);
      for (std::int64_t i = 0; i < total; ++i) whole.values()[i] = value_of(comm.rank(), i);
      comm.reduce_scatter(whole.buffer(), piece.buffer(), ReduceOp::kSum, counts);
      for (std::int64_t i = 0; i < own; ++i) {
        ASSERT_EQ(piece.values()[i],
                  static_cast<float>(n * (n + 1) / 2) * static_cast<float>((before + i) % 91 + 1));
      }
      comm.all_gather(piece.buffer(), whole.buffer(), counts);
      for (std::int64_t i = 0; i < total; ++i) {
        ASSERT_EQ(whole.values()[i],
                  static_cast<float>(n * (n + 1) / 2) * static_cast<float>(i % 91 + 1));
      }
      for (int root = 0; root < n; ++root) {
        for (float& v : piece.values()) v = static_cast<float>(comm.rank() + root);
        comm.gather(piece.buffer(), comm.rank() == root ? whole.buffer() : Buffer{}, root, counts);
        if (comm.rank() == root) {
          std::int64_t at = 0;
          for (int r = 0; r < n; ++r) {
            for (std::int64_t i = 0; i < counts[r]; ++i)
              ASSERT_EQ(whole.values()[at++], static_cast<float>(r + root));
          }
          for (float& v : whole.values()) v += 1;
        }
        comm.scatter(comm.rank() == root ? ConstBuffer(whole.buffer()) : ConstBuffer{},
                     piece.buffer(), root, counts);
        for (const float v : piece.values())
          ASSERT_EQ(v, static_cast<float>(comm.rank() + root + 1));
      }
    }
  });
}

TEST_P(Collectives, BroadcastAndReduceFromEveryRoot) {
  run([](Communicator& comm) {
    const int n = comm.size();
    for (const std::int64_t count : {0, 1, 4099, 70001}) {
      for (int root = 0; root < n; ++root) {
        for (const bool in_library : {false, true}) {
          Memory memory(comm, count, in_library), result(comm, count, in_library);
          for (std::int64_t i = 0; i < count; ++i) memory.values()[i] = value_of(comm.rank(), i);
          comm.reduce(memory.buffer(), comm.rank() == root ? result.buffer() : Buffer{},
                      ReduceOp::kSum, root);
          if (comm.rank() == root) {
            for (std::int64_t i = 0; i < count; ++i) {
              ASSERT_EQ(result.values()[i],
                        static_cast<float>(n * (n + 1) / 2) * static_cast<float>(i % 91 + 1));
            }
          }
          comm.broadcast(memory.buffer(), root);
          for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(memory.values()[i], value_of(root, i));
        }
      }
    }
  });
}

// A rank that has finished an operation with one host barrier may be in the next one before the others have noticed.
TEST_P(Collectives, ManyDifferentConsecutiveOnes) {
  run([](Communicator& comm) {
    std::vector<float> values(3000, 0);
    for (int i = 0; i < 200; ++i) {
      comm.barrier();
      comm.all_reduce(Buffer::of(std::span(values)));
      comm.barrier({.name = "again"});
      comm.broadcast(Buffer::of(std::span(values).first(10)), i % comm.size());
      comm.all_reduce(Buffer::of(std::span(values).first(5)));
    }
  });
}

TEST_P(Collectives, AllToAllEvenAndUneven) {
  run([](Communicator& comm) {
    const int n = comm.size();
    std::vector<std::int32_t> input(static_cast<std::size_t>(n) * 3), output(input.size(), -1);
    for (int r = 0; r < n; ++r) {
      for (int i = 0; i < 3; ++i) input[r * 3 + i] = comm.rank() * 1000 + r * 10 + i;
    }
    comm.all_to_all({input.data(), n * 3, DType::kI32}, {output.data(), n * 3, DType::kI32});
    for (int r = 0; r < n; ++r) {
      for (int i = 0; i < 3; ++i) ASSERT_EQ(output[r * 3 + i], r * 1000 + comm.rank() * 10 + i);
    }
    // Rank a sends a + b elements to rank b.
    std::vector<std::int64_t> sends, receives;
    for (int r = 0; r < n; ++r) sends.push_back(comm.rank() + r);
    receives = sends;
    const std::int64_t total = std::accumulate(sends.begin(), sends.end(), std::int64_t{0});
    std::vector<std::int32_t> out(static_cast<std::size_t>(total), comm.rank()), in(out.size(), -1);
    comm.all_to_all({out.data(), total, DType::kI32}, {in.data(), total, DType::kI32}, sends,
                    receives);
    std::size_t at = 0;
    for (int r = 0; r < n; ++r) {
      for (std::int64_t i = 0; i < receives[r]; ++i) ASSERT_EQ(in[at++], r);
    }
  });
}

TEST_P(Collectives, AsynchronousOnesKeepTheirOrder) {
  run([](Communicator& comm) {
    std::vector<std::vector<float>> tensors(20, std::vector<float>(3000, 1));
    std::vector<Work> works;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Buffer buffer = Buffer::of(std::span(tensors[i]));
      works.push_back(
          comm.all_reduce_async(buffer, buffer, ReduceOp::kSum, {.name = "t" + std::to_string(i)}));
    }
    comm.barrier();
    for (const Work& work : works) {
      EXPECT_TRUE(work.is_complete());
      work.wait();
    }
    for (const auto& tensor : tensors) ASSERT_EQ(tensor[2999], static_cast<float>(comm.size()));
  });
}

TEST_P(Collectives, MessagesBetweenAllPairs) {
  run([](Communicator& comm) {
    const int n = comm.size();
    std::vector<std::vector<float>> out(n), in(n);
    std::vector<Work> works;
    for (int r = 0; r < n; ++r) {
      if (r == comm.rank()) continue;
      out[r].assign(50000, static_cast<float>(comm.rank() * 100 + r));
      in[r].resize(50000);
      works.push_back(comm.send_async(ConstBuffer(out[r].data(), 50000, DType::kF32), r, 5));
      works.push_back(comm.receive_async(Buffer{in[r].data(), 50000, DType::kF32}, r, 5));
    }
    for (const Work& work : works) work.wait();
    for (int r = 0; r < n; ++r) {
      if (r == comm.rank()) continue;
      ASSERT_EQ(in[r][49999], static_cast<float>(r * 100 + comm.rank()));
    }
  });
}

TEST_P(Collectives, MessagesFromAnyRank) {
  run([](Communicator& comm) {
    if (comm.size() == 1) {
      int peer = 0;
      float value = 0;
      EXPECT_THROW(comm.receive_any_async({&value, 1, DType::kF32}, &peer), ConfigError);
      return;
    }
    if (comm.rank() > 0) {
      const float value = static_cast<float>(comm.rank());
      comm.send({&value, 1, DType::kF32}, 0, 300);
      return comm.send({&value, 1, DType::kF32}, 0, 300);
    }
    const auto others = static_cast<std::size_t>(comm.size() - 1);
    std::vector<float> values(2 * others);
    std::vector<int> peers(others, -1);
    std::vector<Work> works;
    for (std::size_t i = 0; i < others; ++i) {
      works.push_back(comm.receive_any_async({&values[i], 1, DType::kF32}, &peers[i], 300));
    }
    for (const Work& work : works) work.wait();
    for (std::size_t i = 0; i < others; ++i) ASSERT_EQ(values[i], static_cast<float>(peers[i]));
    // The remaining messages can still be received by rank.
    for (int r = 1; r < comm.size(); ++r) {
      for (long i = std::count(peers.begin(), peers.end(), r); i < 2; ++i) {
        comm.receive({&values[others], 1, DType::kF32}, r, 300);
        ASSERT_EQ(values[others], static_cast<float>(r));
      }
    }
  });
}

TEST_P(Collectives, MembersCreateAGroupWithoutTheOthers) {
  run([](Communicator& comm) {
    std::vector<int> odd;
    for (int r = comm.size() - 1; r > 0; --r) {
      if (r % 2 == 1) odd.push_back(r);
    }
    for (int turn = 0; turn < 2 && comm.rank() % 2 == 1; ++turn) {
      const auto group = comm.group(odd);
      EXPECT_EQ(odd[static_cast<std::size_t>(group->rank())], comm.rank());
      std::vector<float> mine(5000, 1);
      group->all_reduce(Buffer::of(std::span(mine)));
      ASSERT_EQ(mine[4999], static_cast<float>(odd.size()));
    }
    std::vector<int> all(static_cast<std::size_t>(comm.size()));
    std::iota(all.begin(), all.end(), 0);
    float one = 1;
    comm.group(all)->all_reduce({&one, 1, DType::kF32});
    EXPECT_EQ(one, static_cast<float>(comm.size()));
    EXPECT_THROW(comm.group(std::vector<int>{}), ConfigError);
    EXPECT_THROW(comm.group(std::vector<int>{comm.rank(), comm.size()}), ConfigError);
  });
}

TEST(Communicator, LibraryMemoryMayOutliveIt) {
  std::shared_ptr<Arena> arena;
  char* memory = nullptr;
  run_ranks(host_names({1}), [&](Communicator& comm) {
    arena = comm.arena();
    memory = static_cast<char*>(comm.allocate(1 << 22));
  });
  memory[(1 << 22) - 1] = 1;
  EXPECT_TRUE(arena->find(memory, 1 << 22));
  arena->free(memory);
}

TEST_P(Collectives, GroupsWorkConcurrently) {
  run([](Communicator& comm) {
    const auto half = comm.split(comm.rank() % 2, -comm.rank());
    ASSERT_TRUE(half);
    std::vector<float> mine(5000, static_cast<float>(comm.rank()));
    half->all_reduce(Buffer::of(std::span(mine)));
    float want = 0;
    for (int r = comm.rank() % 2; r < comm.size(); r += 2) want += static_cast<float>(r);
    ASSERT_EQ(mine[4999], want);
    // Ordered by the key, highest rank first.
    const int last = (comm.size() - 1 - comm.rank() % 2) / 2 * 2 + comm.rank() % 2;
    EXPECT_EQ(half->rank(), (last - comm.rank()) / 2);
    EXPECT_EQ(comm.split(-1), nullptr);
  });
}

TEST(Communicator, RanksKnowHostAndLocalRank) {
  run_ranks(host_names({2, 3}, true), [](Communicator& comm) {
    EXPECT_EQ(comm.layout().hosts.size(), 2u);
    const bool on_first = comm.rank() == 0 || comm.rank() == 2;
    EXPECT_EQ(comm.local_size(), on_first ? 2 : 3);
    EXPECT_EQ(comm.local_rank(), comm.rank() / 2 - (comm.rank() == 4 ? 0 : 0));
  });
}

TEST(Communicator, InvalidCallsExplainTheError) {
  run_ranks(host_names({2}), [](Communicator& comm) {
    std::vector<float> a(10), b(9);
    std::vector<double> c(10);
    const auto buffer = [](auto& v) { return Buffer::of(std::span(v)); };
    EXPECT_THROW(comm.all_reduce(buffer(a), buffer(b)), ConfigError);
    EXPECT_THROW(comm.all_reduce(buffer(a), buffer(c)), ConfigError);
    EXPECT_THROW(comm.broadcast(buffer(a), 2), ConfigError);
    EXPECT_THROW(comm.reduce_scatter(buffer(a), buffer(b)), ConfigError);
    EXPECT_THROW(comm.all_to_all(buffer(b), buffer(b)), ConfigError);
    const std::vector<std::int64_t> gives = {3, 7}, takes = {7, 3};
    EXPECT_THROW(comm.all_to_all(buffer(a), buffer(a), gives, takes), ConfigError);
    EXPECT_THROW(comm.send(buffer(a), comm.rank()), ConfigError);
    EXPECT_THROW(comm.send(buffer(a), 1 - comm.rank(), -1), ConfigError);
    comm.all_reduce(buffer(a));  // still works
  });
}

}  // namespace
}  // namespace tutti::comm
