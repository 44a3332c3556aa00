#include "tutti/comm/transport/shm/pipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "tutti/comm/transport/shm/internal/ring.h"
#include "tutti/comm/transport/testing.h"

namespace tutti::comm {
namespace {

using internal::kRingBytes;

// The two ends of a host with ranks 4 and 7, driven manually.
class Pipes : public testing::Test {
 protected:
  void SetUp() override {
    const MemoryHandle handles[] = {four.handle(), seven.handle()};
    ASSERT_TRUE(four.connect(handles).is_ok());
    ASSERT_TRUE(seven.connect(handles).is_ok());
    std::iota(large.begin(), large.end(), 0);
  }
  PipeSet four{4, {4, 7}};
  PipeSet seven{7, {4, 7}};
  std::vector<std::uint16_t> large = std::vector<std::uint16_t>(200'001);
  const std::size_t large_bytes = large.size() * sizeof(std::uint16_t);
};

TEST_F(Pipes, ASendThatFitsCompletesAtOnce) {
  const int sent = 42;
  EXPECT_TRUE(is_complete(*four.send(7, 1, &sent, sizeof sent)));
  int received = 0;
  EXPECT_TRUE(is_complete(*seven.receive(4, 1, &received, sizeof received)));
  EXPECT_EQ(received, 42);
}

TEST_F(Pipes, ALargeMessageNeedsBothEnds) {
  std::vector<std::uint16_t> received(large.size());
  const auto sending = four.send(7, 1, large.data(), large_bytes);
  for (int i = 0; i < 100; ++i) ASSERT_FALSE(is_complete(*sending));
  const auto receiving = seven.receive(4, 1, received.data(), large_bytes);
  int rounds = 0;
  for (; !is_complete(*receiving); ++rounds) is_complete(*sending);
  EXPECT_TRUE(is_complete(*sending));
  EXPECT_EQ(received, large);
  EXPECT_LE(rounds, static_cast<int>(large_bytes / (kRingBytes / 2)));
}

TEST_F(Pipes, AnUnexpectedMessageIsKeptUntilItsReceive) {
  const int wanted = 2;
  const auto first = four.send(7, 1, large.data(), large_bytes);
  const auto second = four.send(7, 2, &wanted, sizeof wanted);
  int received = 0;
  const auto receiving = seven.receive(4, 2, &received, sizeof received);
  while (!is_complete(*receiving)) is_complete(*first);
  EXPECT_TRUE(is_complete(*first));
  EXPECT_EQ(received, 2);
  std::vector<std::uint16_t> later(large.size());
  EXPECT_TRUE(is_complete(*seven.receive(4, 1, later.data(), large_bytes)));
  EXPECT_EQ(later, large);
}

TEST_F(Pipes, ASendWithoutReceiveStaysPending) {
  const auto sending = four.send(7, 1, large.data(), large_bytes);
  int unrelated = 0;
  const auto other = seven.receive(7, 1, &unrelated, sizeof unrelated);
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(is_complete(*sending));
    ASSERT_FALSE(is_complete(*other));
  }
}

TEST_F(Pipes, AnyTestDrivesAllTransfers) {
  std::vector<std::uint16_t> received(large.size());
  const auto sending = four.send(7, 1, large.data(), large_bytes);
  int never = 0;
  const auto waiting = four.receive(7, 9, &never, sizeof never);
  const auto receiving = seven.receive(4, 1, received.data(), large_bytes);
  while (!is_complete(*receiving)) ASSERT_FALSE(is_complete(*waiting));
  EXPECT_EQ(received, large);
}

TEST_F(Pipes, ARankSendsToItself) {
  std::vector<std::uint16_t> received(large.size());
  const auto sending = four.send(4, 0, large.data(), large_bytes);
  const auto receiving = four.receive(4, 0, received.data(), large_bytes);
  while (!is_complete(*receiving)) is_complete(*sending);
  EXPECT_EQ(received, large);
}

TEST_F(Pipes, ACancelledReceiveLeavesTheMessageToTheNext) {
  std::vector<std::uint16_t> forgotten(large.size()), received(large.size());
  const auto sending = four.send(7, 1, large.data(), large_bytes);
  auto doomed = seven.receive(4, 1, forgotten.data(), large_bytes);
  ASSERT_FALSE(is_complete(*doomed));
  doomed.reset();
  std::fill(forgotten.begin(), forgotten.end(), 0);
  const auto receiving = seven.receive(4, 1, received.data(), large_bytes);
  while (!is_complete(*receiving)) is_complete(*sending);
  EXPECT_EQ(received, large);
  EXPECT_TRUE(std::all_of(forgotten.begin(), forgotten.end(), [](int x) { return x == 0; }));
}

TEST_F(Pipes, ACancelledSendLeavesTheReceiveWaiting) {
  std::vector<std::uint16_t> received(large.size());
  const auto receiving = seven.receive(4, 1, received.data(), large_bytes);
  auto doomed = four.send(7, 1, received.data(), large_bytes);
  ASSERT_FALSE(is_complete(*receiving));
  doomed.reset();
  const auto sending = four.send(7, 1, large.data(), large_bytes);
  while (!is_complete(*receiving)) is_complete(*sending);
  EXPECT_EQ(received, large);
}

TEST_F(Pipes, CancelledQueuedSendsAreNotSent) {
  const int first = 1, second = 2, third = 3;
  const auto blocking = four.send(7, 0, large.data(), large_bytes);
  auto doomed = four.send(7, 1, &first, sizeof first);
  const auto kept = four.send(7, 1, &second, sizeof second);
  const auto also_kept = four.send(7, 1, &third, sizeof third);
  doomed.reset();
  int received = 0;
  const auto receiving = seven.receive(4, 1, &received, sizeof received);
  while (!is_complete(*receiving)) is_complete(*blocking);
  EXPECT_EQ(received, 2);
  EXPECT_TRUE(is_complete(*seven.receive(4, 1, &received, sizeof received)));
  EXPECT_EQ(received, 3);
}

TEST_F(Pipes, NamesBothSizesWhenTheyDiffer) {
  const char sent[3] = {};
  char wanted[5] = {};
  four.send(7, 6, sent, 3);
  four.send(7, 6, sent, 3);
  const auto receiving = seven.receive(4, 6, wanted, 5);
  bool finished = true;
  const Result result = receiving->test(&finished);
  ASSERT_FALSE(result.is_ok());
  EXPECT_FALSE(finished);
  EXPECT_EQ(result.code(), "DDL-6-02");
  EXPECT_THAT(result.message(), testing::HasSubstr("5 bytes at this end and 3 at the other"));
  EXPECT_TRUE(is_complete(*seven.receive(4, 6, wanted, 3))) << "the next message is not disturbed";
}

TEST_F(Pipes, RefusesRanksOfOtherHosts) {
  char byte = 0;
  EXPECT_THROW(four.send(5, 0, &byte, 1), ConfigError);
  EXPECT_THROW(PipeSet(1, {2, 3}), ConfigError);
}

TEST_F(Pipes, ThreadsShareThem) {
  const auto exchange = [this](int channel) {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::uint16_t> received(large.size());
      const auto sending = four.send(7, channel, large.data(), large_bytes);
      const auto receiving = seven.receive(4, channel, received.data(), large_bytes);
      while (!is_complete(*receiving)) is_complete(*sending);
      ASSERT_EQ(received, large);
    }
  };
  std::thread other(exchange, 1);
  exchange(2);
  other.join();
}

TEST_F(Pipes, EverySizeAroundTheRingWraps) {
  std::vector<std::byte> sent(kRingBytes + 100), received(kRingBytes + 100);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7);
  for (std::size_t size = 0; size <= sent.size(); size += size < 100 ? 1 : 997) {
    std::fill(received.begin(), received.end(), std::byte{0});
    const auto sending = four.send(7, 3, sent.data(), size);
    const auto receiving = seven.receive(4, 3, received.data(), size);
    while (!is_complete(*receiving)) is_complete(*sending);
    EXPECT_TRUE(std::equal(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(size),
                           received.begin()));
  }
}

}  // namespace
}  // namespace tutti::comm
