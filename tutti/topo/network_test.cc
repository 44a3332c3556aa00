#include "tutti/topo/network.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace tutti::topo {
namespace {

SocketAddress address(const std::string& text, int port = 0) {
  return SocketAddress::parse(text, port).value();
}

TEST(SocketAddress, IsReadAndWritten) {
  EXPECT_EQ(address("192.0.2.7", 80).text(), "192.0.2.7");
  EXPECT_EQ(address("192.0.2.7", 80).port(), 80);
  EXPECT_EQ(address("2001:0db8:0::7", 443).text(), "2001:db8::7");
  EXPECT_EQ(address("2001:db8::7", 443).port(), 443);
  EXPECT_EQ(address("::1").bytes().size(), 16U);
  for (const char* text : {"", "host1", "192.0.2", "192.0.2.256", "2001:db8:::1"})
    EXPECT_FALSE(SocketAddress::parse(text)) << text;
}

TEST(SocketAddress, OtherFamiliesAreNotSupported) {
  sockaddr local{};
  local.sa_family = AF_UNIX;
  EXPECT_FALSE(SocketAddress::copy(&local));
  EXPECT_FALSE(SocketAddress::copy(nullptr));
  const SocketAddress there = address("2001:db8::7", 5);
  EXPECT_EQ(SocketAddress::copy(there.data())->text(), "2001:db8::7");
}

TEST(Interface, KnowsItsNetwork) {
  const Interface plain{"eth0", address("192.0.2.77"), 20},
      wide{"eth0", address("2001:db8::5:7"), 60};
  EXPECT_EQ(plain.network(), "192.0.0.0/20");
  EXPECT_EQ(wide.network(), "2001:db8::/60");
  EXPECT_TRUE(plain.reaches(address("192.0.15.1")));
  EXPECT_FALSE(plain.reaches(address("192.0.16.1")));
  EXPECT_TRUE(wide.reaches(address("2001:db8:0:f::1")));
  EXPECT_FALSE(wide.reaches(address("2001:db8:0:10::1")));
  EXPECT_FALSE(wide.reaches(address("192.0.2.77")));
}

// The listening socket is reachable by both families, if the machine has them.
TEST(Network, ListensEverywhere) {
  const int listener = listen_everywhere(0);
  ASSERT_GE(listener, 0);
  const SocketAddress here = SocketAddress::of(listener);
  ASSERT_GT(here.port(), 0);
  for (const char* text : {"127.0.0.1", "::1"}) {
    const SocketAddress there = address(text, here.port());
    const int caller = ::socket(there.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_complete = ::connect(caller, there.data(), there.size) == 0;
    EXPECT_TRUE(is_complete || errno != ECONNREFUSED) << text;
    EXPECT_TRUE(is_complete || there.family() == AF_INET6) << text;
    ::close(caller);
  }
  EXPECT_EQ(listen_everywhere(here.port()), -1);
  ::close(listener);
}

}  // namespace
}  // namespace tutti::topo
