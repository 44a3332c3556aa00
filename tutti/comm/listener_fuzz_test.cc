// All listeners of comm under connections from unrelated processes: whatever they send, the ranks still connect.
// TUTTI_FUZZ_INPUTS sets the number of inputs per listener.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <thread>

#include "tutti/comm/faults/keepalive_ring.h"
#include "tutti/comm/transport/local/local_transport.h"
#include "tutti/comm/transport/local/rendezvous_listener.h"
#include "tutti/comm/transport/tcp/tcp_wire.h"
#include "tutti/comm/transport/tcp/test_port.h"

namespace tutti::comm {
namespace {

int inputs_per_listener() {
  const char* const text = std::getenv("TUTTI_FUZZ_INPUTS");
  return text ? std::atoi(text) : 1000;
}

std::string random_bytes(std::mt19937& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// Silence, noise, other protocols, and valid beginnings followed by invalid data.
std::string random_input(std::mt19937& random) {
  switch (random() % 8) {
    case 0: return "";
    case 1: return random_bytes(random, 1);
    case 2: return "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    case 3: return "TUTTI-1\n" + random_bytes(random, random() % 80);
    case 4: return RankHello::kMagic + random_bytes(random, random() % 64);
    case 5: {  // frame of 8 GiB
      const std::uint64_t frame[] = {random(), random(), std::uint64_t{8} << 30};
      return {reinterpret_cast<const char*>(frame), sizeof frame};
    }
    default: return random_bytes(random, random() % 300);
  }
}

// Connects `count` times and sends an input. Every fourth connection stays open for a while.
void attack(const std::function<int()>& connect, int count) {
  std::mt19937 random(1);
  std::deque<int> open;
  const linger reset{.l_onoff = 1, .l_linger = 0};  // frees ports immediately
  for (int i = 0; i < count || !open.empty(); ++i) {
    const int socket = i < count ? connect() : -1;
    if (socket >= 0) {
      const std::string input = random_input(random);
      ::send(socket, input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
      i % 4 == 0 ? open.push_back(socket) : (void)::close(socket);
    }
    if (i < count && open.size() <= 32) continue;
    ::close(open.front());
    open.pop_front();
  }
}

int connect_to_port(int port) {
  const auto address = topo::SocketAddress::parse("127.0.0.1", port);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(socket, address->data(), address->size) == 0) return socket;
  ::close(socket);
  return -1;
}

int port_of(const std::string& contact) {
  int port = 0;
  std::istringstream(contact) >> port;
  return port;
}

// A connection that any process of this user can make.
int connect_to_unix(const LocalJob& job) {
  Connection connection = Connection::connect(rendezvous_socket_name(job));
  return connection.is_open() ? ::dup(connection.file()) : -1;
}

void check_rendezvous(LocalJob job, const std::function<int()>& connect) {
  const auto start = [](LocalJob local, int rank) {
    local.rank = rank;
    EXPECT_EQ(start_local(local)->exchange("here").size(), 2U);
  };
  std::thread host(start, job, 0);
  int first = -1;
  while ((first = connect()) < 0) std::this_thread::yield();
  attack(connect, inputs_per_listener());
  start(job, 1);
  host.join();
  ::close(first);
}

TEST(ListenerFuzz, RendezvousOnOneHost) {
  const LocalJob job{.size = 2, .id = "fuzz" + std::to_string(::getpid()), .seconds = 1e5};
  check_rendezvous(job, [&] { return connect_to_unix(job); });
}

TEST(ListenerFuzz, RendezvousBetweenHosts) {
  const LocalJob job{.size = 2,
                     .id = "fuzz",
                     .seconds = 1e5,
                     .master = "localhost",
                     .port = free_port(),
                     .secret = auth::Secret::generate()};
  check_rendezvous(job, [&] { return connect_to_port(job.port); });
}

TEST(ListenerFuzz, RendezvousBetweenHostsWithoutASecret) {
  const LocalJob job{
      .size = 2, .id = "fuzz", .seconds = 1e5, .master = "localhost", .port = free_port()};
  check_rendezvous(job, [&] { return connect_to_port(job.port); });
}

TEST(ListenerFuzz, MessagesBetweenHosts) {
  const auth::Secret secret = auth::Secret::generate();
  TcpWire zero(0, secret), one(1, secret);
  zero.connect({zero.offer(), one.offer()});
  one.connect({zero.offer(), one.offer()});
  int sent = 7, received = 0;
  const auto finish = [](Transfer& transfer) {
    for (bool finished = false; !finished;) transfer.test(&finished).throw_if_error();
  };
  std::thread receiver([&] {
    const auto transfer = one.receive(0, 0, &received, sizeof received);
    finish(*transfer);
  });
  attack([&] { return connect_to_port(port_of(one.offer())); }, inputs_per_listener());
  const auto transfer = zero.send(1, 0, &sent, sizeof sent);
  finish(*transfer);
  receiver.join();
  EXPECT_EQ(received, 7);
}

TEST(ListenerFuzz, KeepaliveBetweenHosts) {
  const auth::Secret secret = auth::Secret::generate();
  KeepaliveRing one, other;
  const std::string address = one.open(secret, 0);
  other.open(secret, 1);
  std::thread monitor([&] {
    while (one.established() == 0) {
      std::vector<pollfd> files;
      one.add_files(files);
      ::poll(files.data(), files.size(), 20);
      EXPECT_TRUE(one.find_dead().empty());
    }
  });
  attack([&] { return connect_to_port(port_of(address)); }, inputs_per_listener());
  other.connect(0, address);
  while (other.established() == 0) EXPECT_TRUE(other.find_dead().empty());
  monitor.join();
}

}  // namespace
}  // namespace tutti::comm
