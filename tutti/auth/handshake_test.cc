#include "tutti/auth/handshake.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <random>
#include <string>
#include <thread>

#include "tutti/auth/test_sockets.h"

namespace tutti::auth {
namespace {

using State = Handshake::State;
using testing::send_text;
using testing::SocketPair;

// Advances both ends until neither makes progress.
void run(Handshake& connector, Handshake& listener, const SocketPair& sockets) {
  for (int i = 0; i < 4; ++i) {
    connector.advance(sockets.ends[0]);
    listener.advance(sockets.ends[1]);
  }
}

TEST(Handshake, AuthenticatesBothEndsThatKnowTheSecret) {
  const Secret secret = Secret::generate();
  SocketPair sockets;
  Handshake connector(secret, Role::kConnector, "test"), listener(secret, Role::kListener, "test");
  run(connector, listener, sockets);
  EXPECT_EQ(connector.state(), State::kAuthenticated);
  EXPECT_EQ(listener.state(), State::kAuthenticated);
}

TEST(Handshake, LeavesLaterBytesInTheSocket) {
  const Secret secret = Secret::generate();
  SocketPair sockets;
  Handshake connector(secret, Role::kConnector, "test"), listener(secret, Role::kListener, "test");
  connector.advance(sockets.ends[0]);
  listener.advance(sockets.ends[1]);
  ASSERT_EQ(connector.advance(sockets.ends[0]), State::kAuthenticated);
  ASSERT_TRUE(send_text(sockets.ends[0], "payload"));
  ASSERT_EQ(listener.advance(sockets.ends[1]), State::kAuthenticated);
  char text[8] = {};
  EXPECT_EQ(::recv(sockets.ends[1], text, 7, 0), 7);
  EXPECT_STREQ(text, "payload");
}

TEST(Handshake, RejectsAnotherSecretOnBothEnds) {
  SocketPair sockets;
  Handshake connector(Secret::generate(), Role::kConnector, "test");
  Handshake listener(Secret::generate(), Role::kListener, "test");
  run(connector, listener, sockets);
  EXPECT_EQ(connector.state(), State::kRejected);
  sockets.close(0);
  EXPECT_EQ(listener.advance(sockets.ends[1]), State::kRejected);
}

TEST(Handshake, RejectsAnotherPurpose) {
  const Secret secret = Secret::generate();
  SocketPair sockets;
  Handshake connector(secret, Role::kConnector, "data"), listener(secret, Role::kListener, "job");
  run(connector, listener, sockets);
  EXPECT_EQ(connector.state(), State::kRejected);
  EXPECT_NE(listener.state(), State::kAuthenticated);
}

// A peer without the secret could connect to the listener twice and relay its proofs.
TEST(Handshake, RejectsItsOwnProofSentBack) {
  const Secret secret = Secret::generate();
  SocketPair sockets;
  Handshake listener(secret, Role::kListener, "test");
  send_text(sockets.ends[0], "TUTTI-1\n" + std::string(16, 'n'));
  listener.advance(sockets.ends[1]);
  char answer[48];
  ASSERT_EQ(::recv(sockets.ends[0], answer, sizeof answer, 0), 48);
  send_text(sockets.ends[0], {answer + 16, 32});
  EXPECT_EQ(listener.advance(sockets.ends[1]), State::kRejected);
}

TEST(Handshake, RejectsOtherProtocolsBeforeItAnswers) {
  SocketPair sockets;
  Handshake listener(Secret::generate(), Role::kListener, "test");
  send_text(sockets.ends[0], "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(listener.advance(sockets.ends[1]), State::kRejected);
  char byte = 0;
  EXPECT_EQ(::recv(sockets.ends[0], &byte, 1, MSG_DONTWAIT), -1);
}

TEST(Handshake, TakesMessagesThatArriveByteByByte) {
  const Secret secret = Secret::generate();
  SocketPair near, far;
  Handshake connector(secret, Role::kConnector, "test"), listener(secret, Role::kListener, "test");
  const auto relay = [](int from, int to) {
    char byte = 0;
    if (::recv(from, &byte, 1, MSG_DONTWAIT) == 1) ::send(to, &byte, 1, MSG_NOSIGNAL);
  };
  for (int i = 0; i < 200; ++i) {
    connector.advance(near.ends[0]);
    listener.advance(far.ends[0]);
    relay(near.ends[1], far.ends[1]);
    relay(far.ends[1], near.ends[1]);
  }
  EXPECT_EQ(connector.state(), State::kAuthenticated);
  EXPECT_EQ(listener.state(), State::kAuthenticated);
}

TEST(Handshake, NeverAuthenticatesRandomBytes) {
  const Secret secret = Secret::generate();
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    SocketPair sockets;
    const Role role = i % 2 ? Role::kConnector : Role::kListener;
    Handshake handshake(secret, role, "test");
    std::string input = i % 4 == 0 ? "TUTTI-1\n" : "";  // some inputs get past the magic bytes
    input.resize(random() % 128);
    for (std::size_t at = 8; at < input.size(); ++at) input[at] = static_cast<char>(random());
    send_text(sockets.ends[0], input);
    handshake.advance(sockets.ends[1]);
    sockets.close(0);
    ASSERT_EQ(handshake.advance(sockets.ends[1]), State::kRejected) << i;
  }
}

TEST(Authenticate, BlocksUntilThePeerHasAnswered) {
  const Secret secret = Secret::generate();
  SocketPair sockets;
  bool is_authenticated = false;
  std::thread listener([&] {
    is_authenticated = authenticate(sockets.ends[1], secret, Role::kListener, "test", 60);
  });
  EXPECT_TRUE(authenticate(sockets.ends[0], secret, Role::kConnector, "test", 60));
  listener.join();
  EXPECT_TRUE(is_authenticated);
}

TEST(Authenticate, GivesUpOnASilentPeer) {
  SocketPair sockets;
  EXPECT_FALSE(authenticate(sockets.ends[0], Secret::generate(), Role::kListener, "test", 0.01));
}

}  // namespace
}  // namespace tutti::auth
