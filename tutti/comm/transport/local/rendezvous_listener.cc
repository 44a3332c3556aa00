#include "tutti/comm/transport/local/rendezvous_listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tutti/core/clock.h"
#include "tutti/topo/network.h"

namespace tutti::comm {
namespace {

using topo::SocketAddress;

bool is_loopback_address(const SocketAddress& address) {
  const auto bytes = address.bytes();
  return address.family() == AF_INET ? bytes[0] == 127 : address.text() == "::1";
}

std::vector<SocketAddress> addresses_of(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<SocketAddress> out;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return out;
  for (const addrinfo* way = found; way; way = way->ai_next) {
    if (const auto address = SocketAddress::copy(way->ai_addr)) out.push_back(*address);
  }
  ::freeaddrinfo(found);
  return out;
}

// Addresses of MASTER_ADDR to listen on. Empty, meaning all addresses, if they do not belong to this host, or if the
// name resolves to the loopback interface here: on other hosts it resolves to another address, as the host's own name
// does on Debian.
std::vector<SocketAddress> own_addresses_of(const std::string& host, int port) {
  std::vector<SocketAddress> addresses = addresses_of(host, port);
  const bool is_local = host == "localhost" || SocketAddress::parse(host).has_value();
  const bool is_ambiguous =
      !is_local && std::any_of(addresses.begin(), addresses.end(), is_loopback_address);
  if (is_ambiguous) addresses.clear();
  return addresses;
}

std::vector<os::UniqueFd> listen_over_tcp(const LocalJob& job) {
  std::vector<os::UniqueFd> files;
  for (const SocketAddress& address : own_addresses_of(job.master, job.port)) {
    os::UniqueFd file(topo::listen_on(address, SOCK_NONBLOCK));
    if (!file.is_open() && errno == EADDRINUSE) return {};
    if (file.is_open()) files.push_back(std::move(file));
  }
  if (!files.empty()) return files;
  os::UniqueFd file(topo::listen_everywhere(job.port, SOCK_NONBLOCK));
  if (file.is_open()) files.push_back(std::move(file));
  return files;
}

}  // namespace

std::string rendezvous_socket_name(const LocalJob& job) {
  std::string name = fmt::format("tutti/{}/{}", geteuid(), job.id);
  if (!job.secret) return name;
  const auth::Secret::Mac mac = job.secret->sign("socket " + job.id);
  name = fmt::format("tutti/{}/", geteuid());
  for (std::size_t i = 0; i < 16; ++i) name += fmt::format("{:02x}", mac[i]);
  return name;
}

RendezvousListener::RendezvousListener(const LocalJob& job) {
  if (job.secret) unauthenticated_.emplace(*job.secret, kRendezvousPurpose);
  if (!job.master.empty()) {
    files_ = listen_over_tcp(job);
    return;
  }
  os::UniqueFd file(listen_unix(rendezvous_socket_name(job)));
  if (file.is_open()) files_.push_back(std::move(file));
}

std::vector<RendezvousListener::Arrival> RendezvousListener::accept(double seconds) {
  std::vector<pollfd> files;
  for (const os::UniqueFd& file : files_) files.push_back({file.get(), POLLIN, 0});
  if (unauthenticated_) unauthenticated_->add_files(&files);
  for (const Pending& one : pending_) files.push_back({one.connection.file(), POLLIN, 0});
  // At most 0.5 s at a time, so expired connections are closed.
  ::poll(files.data(), files.size(), static_cast<int>(std::clamp(seconds * 1000, 0.0, 500.0)) + 1);
  accept_connections();
  std::vector<Arrival> arrivals;
  std::erase_if(pending_, [&](Pending& one) {
    if (!read_hello(one)) return true;
    if (one.received.size() < sizeof(RankHello)) return now_ns() >= one.deadline_ns;
    RankHello hello;
    std::memcpy(&hello, one.received.data(), sizeof hello);
    if (std::memcmp(hello.magic, RankHello::kMagic, sizeof hello.magic) == 0) {
      arrivals.push_back({std::move(one.connection), hello});
    }
    return true;
  });
  return arrivals;
}

void RendezvousListener::accept_connections() {
  for (const os::UniqueFd& file : files_) {
    if (unauthenticated_) {
      for (const int socket : unauthenticated_->accept_from(file.get())) add(socket);
      continue;
    }
    for (std::size_t i = 0; i < kMaxPending; ++i) {
      const int socket = ::accept4(file.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) break;
      add(socket);
    }
  }
}

void RendezvousListener::add(int socket) {
  Connection connection(socket);
  if (!connection.is_same_user()) return;
  if (pending_.size() >= kMaxPending) pending_.erase(pending_.begin());
  pending_.push_back({std::move(connection), now_ns() + kPendingTime});
}

bool RendezvousListener::read_hello(Pending& pending) {
  char buffer[sizeof(RankHello)];
  const std::size_t missing = sizeof buffer - pending.received.size();
  const auto bytes = ::recv(pending.connection.file(), buffer, missing, MSG_DONTWAIT);
  if (bytes < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  pending.received.append(buffer, static_cast<std::size_t>(bytes));
  return bytes > 0;
}

}  // namespace tutti::comm
