#include "tutti/comm/transport/thread/thread_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tutti/comm/transport/testing.h"

namespace tutti::comm {
namespace {

TEST(ThreadWorld, EmulatesHosts) {
  const ThreadWorld world(3, {"red", "red", "blue"});
  EXPECT_EQ(world.size(), 3);
  EXPECT_EQ(world.transport(1)->host_name(), "red");
  EXPECT_EQ(world.transport(2)->host_name(), "blue");
}

TEST(ThreadWorld, RejectsInvalidRequests) {
  EXPECT_THROW(ThreadWorld(0), ConfigError);
  EXPECT_THROW(ThreadWorld(2, {"red"}), ConfigError);
  const ThreadWorld world(2);
  EXPECT_THROW(world.transport(2), ConfigError);
  char byte = 0;
  EXPECT_THROW(world.transport(0)->send(-1, 0, &byte, 1), ConfigError);
}

TEST(ThreadWorld, OneRankSendsToItself) {
  const ThreadWorld world(1);
  const auto transport = world.transport(0);
  EXPECT_THAT(transport->exchange("alone"), testing::ElementsAre("alone"));
  const int sent = 42;
  int received = 0;
  transport->send(0, 1, &sent, sizeof sent);
  const auto transfer = transport->receive(0, 1, &received, sizeof received);
  EXPECT_TRUE(is_complete(*transfer));
  EXPECT_EQ(received, 42);
}

TEST(ThreadWorld, NamesBothSizesWhenTheyDiffer) {
  const ThreadWorld world(2);
  const char sent[3] = {};
  char wanted[5] = {};
  const auto sending = world.transport(0)->send(1, 6, sent, 3);
  const auto receiving = world.transport(1)->receive(0, 6, wanted, 5);
  bool finished = false;
  const Result result = receiving->test(&finished);
  ASSERT_FALSE(result.is_ok());
  EXPECT_EQ(result.code(), "DDL-6-02");
  EXPECT_THAT(result.message(), testing::HasSubstr("5 bytes at this end and 3 at the other"));
}

TEST(ThreadWorld, ALargeSendCompletesWhenReceived) {
  const ThreadWorld world(2);
  std::vector<char> sent(ThreadWorld::kCopiedBytes + 1, 'x'), received(sent.size());
  const auto sending = world.transport(0)->send(1, 0, sent.data(), sent.size());
  EXPECT_FALSE(is_complete(*sending));
  const auto receiving = world.transport(1)->receive(0, 0, received.data(), received.size());
  EXPECT_TRUE(is_complete(*sending));
  EXPECT_TRUE(is_complete(*receiving));
  EXPECT_EQ(received, sent);
}

TEST(ThreadWorld, MessagesOfAKilledRankAreLost) {
  ThreadWorld world(3);
  const auto killed = world.transport(1), other = world.transport(0);
  int value = 1, received = 0;
  killed->send(0, 0, &value, sizeof value);
  killed->notify(0, "help");
  world.kill(1);
  killed->send(0, 0, &value, sizeof value);
  killed->notify(0, "help");
  EXPECT_FALSE(is_complete(*other->receive(1, 0, &received, sizeof received)));
  EXPECT_FALSE(other->next_oob_message().has_value());
}

TEST(ThreadWorld, AnExchangeWithAKilledRankFails) {
  ThreadWorld world(3);
  world.kill(1);
  try {
    world.transport(0)->exchange("");
    FAIL();
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("DDL-6-03 rank 1 ended"));
  }
}

TEST(ThreadWorld, MessagesOfAPausedRankArriveWhenItResumes) {
  ThreadWorld world(2);
  const auto paused = world.transport(1), other = world.transport(0);
  world.pause(1);
  const int value = 7;
  int received = 0;
  paused->send(0, 0, &value, sizeof value);
  paused->notify(0, "late");
  const auto transfer = other->receive(1, 0, &received, sizeof received);
  EXPECT_FALSE(is_complete(*transfer));
  EXPECT_FALSE(other->next_oob_message().has_value());
  world.resume(1);
  EXPECT_TRUE(is_complete(*transfer));
  EXPECT_EQ(received, 7);
  EXPECT_EQ(other->next_oob_message()->text, "late");
}

TEST(ThreadWorld, RunRethrowsTheErrorOfARankAndReleasesTheOthers) {
  ThreadWorld world(3);
  EXPECT_THROW(world.run([](Transport& transport) {
    if (transport.rank() == 2) throw ConfigError("DDL-1-01", "wrong");
    transport.exchange("");
  }),
               ConfigError);
}

}  // namespace
}  // namespace tutti::comm
