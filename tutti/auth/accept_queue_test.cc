#include "tutti/auth/accept_queue.h"

#include <gtest/gtest.h>

#include <thread>

#include "tutti/auth/test_sockets.h"

namespace tutti::auth {
namespace {

using testing::LoopbackListener;
using testing::send_text;

class AcceptQueueTest : public ::testing::Test {
 protected:
  // Polls like a caller, so no connection is missed.
  std::vector<int> accept(AcceptQueue& queue) const {
    std::vector<pollfd> files{{listener_.file, POLLIN, 0}};
    queue.add_files(&files);
    ::poll(files.data(), files.size(), 100);
    return queue.accept_from(listener_.file);
  }
  bool is_closed_by_peer(int socket) const {
    char byte = 0;
    return ::recv(socket, &byte, 1, 0) <= 0;
  }

  LoopbackListener listener_;
  Secret secret_ = Secret::generate();
};

TEST_F(AcceptQueueTest, ReturnsAPeerThatKnowsTheSecretAmongOthers) {
  AcceptQueue queue(secret_, "test");
  const int silent = listener_.connect(), http = listener_.connect();
  send_text(http, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const int peer = listener_.connect();
  std::thread connector(
      [&] { EXPECT_TRUE(authenticate(peer, secret_, Role::kConnector, "test", 60)); });
  std::vector<int> sockets;
  while (sockets.empty()) sockets = accept(queue);
  connector.join();
  ASSERT_EQ(sockets.size(), 1U);
  send_text(peer, "x");
  char byte = 0;
  EXPECT_EQ(::recv(sockets[0], &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'x');
  EXPECT_TRUE(is_closed_by_peer(http));
  for (const int socket : {silent, http, peer, sockets[0]}) ::close(socket);
}

TEST_F(AcceptQueueTest, ClosesSilentConnectionsFirstWhenItIsFull) {
  AcceptQueue queue(secret_, "test", {.max_pending = 3, .seconds = 1e6});
  const int first = listener_.connect();
  send_text(first, "TUTTI-1\n");
  const int silent = listener_.connect(), third = listener_.connect();
  while (queue.pending() < 3) accept(queue);
  const int fourth = listener_.connect();
  accept(queue);
  EXPECT_EQ(queue.pending(), 3U);
  EXPECT_TRUE(is_closed_by_peer(silent));
  for (const int socket : {first, silent, third, fourth}) ::close(socket);
}

TEST_F(AcceptQueueTest, ClosesConnectionsAfterTheTimeLimit) {
  AcceptQueue queue(secret_, "test", {.max_pending = 3, .seconds = 0});
  const int silent = listener_.connect();
  EXPECT_TRUE(accept(queue).empty());
  EXPECT_EQ(queue.pending(), 0U);
  EXPECT_TRUE(is_closed_by_peer(silent));
  ::close(silent);
}

TEST_F(AcceptQueueTest, SurvivesAFloodOfConnections) {
  AcceptQueue queue(secret_, "test", {.max_pending = 8, .seconds = 1e6});
  for (int i = 0; i < 500; ++i) {
    const int socket = listener_.connect();
    send_text(socket, std::string(static_cast<std::size_t>(i), 'x'));
    EXPECT_TRUE(accept(queue).empty());
    EXPECT_LE(queue.pending(), 8U);
    ::close(socket);
  }
}

}  // namespace
}  // namespace tutti::auth
