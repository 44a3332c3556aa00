// Ranks that disagree, do not call or leave. Thread-ranks; tests/faults covers the same with processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "tutti/comm/observe/flight_record.h"
#include "tutti/comm/testing.h"
#include "tutti/core/error.h"

namespace tutti::comm {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

// Message of the exception of each rank's body; "" for none.
std::vector<std::string> errors_of(const std::vector<std::string>& hosts,
                                   const std::function<void(Communicator&)>& body,
                                   const std::string& options = "") {
  std::vector<std::string> errors(hosts.size());
  std::mutex mutex;
  run_ranks(
      hosts,
      [&](Communicator& comm) {
        std::string text;
        try {
          body(comm);
        } catch (const CommError& error) {
          text = error.what();
        } catch (const TimeoutError& error) {
          text = std::string("timeout: ") + error.what();
        }
        const std::lock_guard lock(mutex);
        errors[comm.rank()] = text;
      },
      test_options(options));
  return errors;
}

void all_reduce(Communicator& comm, std::int64_t count, ReduceOp op = ReduceOp::kSum,
                std::string_view name = {}) {
  std::vector<float> values(static_cast<std::size_t>(count), 1);
  comm.all_reduce(Buffer::of(std::span(values)), op, {.name = name});
}

TEST(Abandoned, EveryRankGetsTheMessage) {
  for (const auto& hosts : {host_names({3}), host_names({2, 1})}) {
    const auto errors = errors_of(hosts, [](Communicator& comm) {
      all_reduce(comm, 10);
      if (comm.rank() == 1) comm.abandon("ValueError: no data");
      all_reduce(comm, 10);
    });
    EXPECT_THAT(errors, Each(AllOf(HasSubstr("DDL-4-13"), HasSubstr("rank 1 on"),
                                   HasSubstr("cannot continue: ValueError: no data"))));
  }
}

class Disagreement : public testing::TestWithParam<std::vector<std::string>> {};
INSTANTIATE_TEST_SUITE_P(Hosts, Disagreement,
                         testing::Values(host_names({2}), host_names({3}), host_names({1, 1}),
                                         host_names({2, 2}), host_names({1, 1, 1})));

TEST_P(Disagreement, InCountNamesBothSidesOnEveryRank) {
  const auto errors = errors_of(GetParam(), [](Communicator& comm) {
    all_reduce(comm, 10);
    all_reduce(comm, comm.rank() == 1 ? 1001 : 1000);
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("DDL-4-02"), HasSubstr("1001 x f32"),
                                 HasSubstr("1000 x f32"), HasSubstr("all_reduce #2"))));
}

TEST_P(Disagreement, InSizeClassIsFoundToo) {
  const auto errors = errors_of(
      GetParam(), [](Communicator& comm) { all_reduce(comm, comm.rank() == 1 ? 200000 : 10); });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("200000 x f32"), HasSubstr("(10 x f32"))));
}

TEST_P(Disagreement, InOperationAndName) {
  EXPECT_THAT(errors_of(GetParam(),
                        [](Communicator& comm) {
                          all_reduce(comm, 10, comm.rank() == 0 ? ReduceOp::kMax : ReduceOp::kSum);
                        }),
              Each(AllOf(HasSubstr("max"), HasSubstr("sum"))));
  EXPECT_THAT(errors_of(GetParam(),
                        [](Communicator& comm) {
                          all_reduce(comm, 10, ReduceOp::kSum,
                                     comm.rank() == 0 ? "conv1" : "conv2");
                        }),
              Each(AllOf(HasSubstr("'conv1'"), HasSubstr("'conv2'"))));
}

TEST_P(Disagreement, InCollective) {
  const auto errors = errors_of(GetParam(), [](Communicator& comm) {
    std::vector<float> values(5000);
    if (comm.rank() == 1) {
      comm.broadcast(Buffer::of(std::span(values)), 0);
      comm.barrier();
    } else {
      comm.all_reduce(Buffer::of(std::span(values)));
    }
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("broadcast #1"), HasSubstr("all_reduce #1"))));
}

TEST_P(Disagreement, LaterCallsFailWithTheSameMessage) {
  const auto errors = errors_of(GetParam(), [](Communicator& comm) {
    try {
      all_reduce(comm, comm.rank() + 1);
    } catch (const CommError&) {
    }
    all_reduce(comm, 10);
  });
  EXPECT_THAT(errors, Each(HasSubstr("DDL-4-02")));
}

TEST_P(Disagreement, MissingRankEndsInATimeoutThatNamesIt) {
  const auto errors = errors_of(
      GetParam(),
      [&](Communicator& comm) {
        if (comm.rank() == 1) {
          // Makes no call until the others have failed, like a rank that computes for too long.
          while (true) {
            try {
              comm.check();
              std::this_thread::sleep_for(std::chrono::milliseconds(5));
            } catch (const Error&) {
              break;
            }
          }
          return;
        }
        all_reduce(comm, 10);
      },
      "-timeout 0.3 -stall_seconds 0.1");
  for (std::size_t r = 0; r < errors.size(); ++r) {
    if (r == 1) continue;
    EXPECT_THAT(errors[r], AllOf(HasSubstr("timeout: DDL-4-05"), HasSubstr("rank 1 on host"),
                                 HasSubstr("all_reduce #1")));
  }
}

TEST(Stall, ACallMayHaveASeparateTimeout) {
  const auto errors = errors_of(host_names({2}), [](Communicator& comm) {
    if (comm.rank() == 0) comm.barrier({.timeout = 0.2});
    for (;;) {
      comm.check();
      std::this_thread::yield();
    }
  });
  EXPECT_THAT(errors, Each(HasSubstr("DDL-4-05")));
}

TEST_P(Disagreement, ARankThatLeavesIsNamed) {
  const auto errors = errors_of(GetParam(), [](Communicator& comm) {
    all_reduce(comm, 10);
    if (comm.rank() == 1) return;
    all_reduce(comm, 10);
  });
  for (std::size_t r = 0; r < errors.size(); ++r) {
    if (r == 1) continue;
    EXPECT_THAT(errors[r], AllOf(HasSubstr("DDL-4-03"), HasSubstr("Rank 1 on host")));
  }
}

TEST_P(Disagreement, AMessageFromARankThatLeftFails) {
  const auto errors = errors_of(GetParam(), [](Communicator& comm) {
    if (comm.rank() == 1) return;
    float value = 0;
    comm.receive(Buffer{&value, 1, DType::kF32}, 1);
  });
  for (std::size_t r = 0; r < errors.size(); ++r) {
    if (r == 1) continue;
    EXPECT_THAT(errors[r], AllOf(HasSubstr("DDL-4-03"), HasSubstr("Rank 1 on host")));
  }
}

class RunFolder : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tutti-run-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path_ / name).rdbuf();
    return text.str();
  }
  Options options(const std::string& text) const {
    Options options = test_options(text);
    options.set("run_folder", path_.string());
    return options;
  }
  std::filesystem::path path_;
};

TEST_F(RunFolder, AStalledRankIsNamedAndTheJobContinues) {
  ThreadWorld world(2, host_names({1, 1}));
  std::thread other([&] {
    world.run([&](Transport& transport) {
      const auto comm =
          Communicator::create(world.transport(transport.rank()), options("-stall_seconds 0.1"));
      if (comm->rank() == 1) world.pause(1);
      all_reduce(*comm, 10);
    });
  });
  while (read("events-rank0.jsonl").find("no answer") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  world.resume(1);
  other.join();
  EXPECT_THAT(read("events-rank0.jsonl"),
              AllOf(HasSubstr("\"kind\":\"stall\""), HasSubstr("host1 (rank 1)"),
                    HasSubstr("\"kind\":\"recovered\"")));
  EXPECT_EQ(read("flight-rank0.json"), "");
}

TEST_F(RunFolder, FailuresLeaveTheFlightRecord) {
  run_ranks(
      host_names({2}),
      [](Communicator& comm) {
        comm.barrier({"begin"});
        EXPECT_THROW(all_reduce(comm, 10 + comm.rank()), CommError);
      },
      options("-trace 1"));
  for (const std::string rank : {"0", "1"}) {
    EXPECT_THAT(
        read("flight-rank" + rank + ".json"),
        AllOf(HasSubstr("DDL-4-02"), HasSubstr("\"tensor\":\"begin\""),
              HasSubstr("\"collective\":\"all_reduce\""), HasSubstr("\"unfinished\":true")));
    EXPECT_THAT(read("events-rank" + rank + ".jsonl"), HasSubstr("\"kind\":\"failure\""));
    EXPECT_THAT(read("trace-rank" + rank + ".json"),
                AllOf(HasSubstr("\"name\":\"barrier\""), Not(HasSubstr("all_reduce"))));
  }
}

TEST_F(RunFolder, OfOnlyTheLastOperationsIsKept) {
  FlightRecord flight;
  for (std::uint64_t i = 1; i <= FlightRecord::kEntries + 3; ++i) {
    auto& slot = flight.begin({.record = OpRecord::of({}, i), .start_ticks = 1});
    if (i % 2) FlightRecord::end(slot, 2, flight.keep("way"));
  }
  const auto entries = flight.entries();
  ASSERT_EQ(entries.size(), FlightRecord::kEntries);
  EXPECT_EQ(entries.front().record.sequence, 4u);
  EXPECT_EQ(entries.front().end_ticks, 0);
  EXPECT_STREQ(entries.back().algorithm, "way");
}

}  // namespace
}  // namespace tutti::comm
