#include "tutti/comm/transport/tcp/listener.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "tutti/topo/identity.h"

namespace tutti::comm {
namespace {

using topo::SocketAddress;

// Link speed in Mbit/s; -1 if the kernel does not report it.
int speed_of(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  int speed = -1;
  return file >> speed ? speed : -1;
}

bool is_named(const std::string& names, const std::string& name) {
  return names.empty() || ("," + names + ",").find("," + name + ",") != std::string::npos;
}

// Speed of the fastest interface in the network of `address`; -2 if none is.
int speed_towards(const SocketAddress& address, const std::vector<topo::Interface>& mine) {
  int best = -2;
  for (const topo::Interface& interface : mine) {
    if (interface.reaches(address)) best = std::max(best, speed_of(interface.name));
  }
  return best;
}

// Listens on the loopback interface and on these addresses, all with the same port. Empty if that port is taken.
std::vector<os::UniqueFd> listen_on_all(const std::vector<std::string>& addresses, int port) {
  std::vector<os::UniqueFd> files;
  const auto add = [&](const std::string& text) {
    const auto address = SocketAddress::parse(text, port);
    os::UniqueFd file(address ? topo::listen_on(*address, SOCK_NONBLOCK) : -1);
    if (!file.is_open()) return errno != EADDRINUSE && errno != EACCES;
    port = SocketAddress::of(file.get()).port();
    files.push_back(std::move(file));
    return true;
  };
  bool is_free = add("127.0.0.1");
  for (const std::string& address : addresses) is_free = is_free && add(address);
  if (!is_free) files.clear();
  return files;
}

}  // namespace

void set_socket_option(int file, int level, int option, int value) {
  ::setsockopt(file, level, option, &value, sizeof value);
}

Listener Listener::open(const std::string& interfaces, int port) {
  std::vector<std::string> addresses;
  for (const topo::Interface& interface : topo::own_interfaces()) {
    if (is_named(interfaces, interface.name)) addresses.push_back(interface.address.text());
  }
  Listener listener;
  constexpr int kAttempts = 16;  // a port that is free on one address may be taken on another
  for (int attempt = 0; attempt < kAttempts && !listener.is_open(); ++attempt) {
    listener.files = listen_on_all(addresses, port);
    if (!listener.is_open() && (port != 0 || errno != EADDRINUSE)) return listener;
  }
  if (!listener.is_open()) return listener;
  listener.text = fmt::format("{} {} {}", SocketAddress::of(listener.files[0].get()).port(),
                              topo::this_host_identity().boot_id, fmt::join(addresses, " "));
  return listener;
}

std::vector<SocketAddress> candidate_addresses(const std::string& contact) {
  std::istringstream words(contact);
  int port = 0;
  std::string boot_id;
  words >> port >> boot_id;
  const std::vector<topo::Interface> mine = topo::own_interfaces();
  std::vector<std::pair<int, SocketAddress>> candidates;
  const auto add = [&](const std::string& text, bool is_loopback) {
    const auto address = SocketAddress::parse(text, port);
    if (address)
      candidates.emplace_back(is_loopback ? INT32_MAX : speed_towards(*address, mine), *address);
  };
  if (!boot_id.empty() && boot_id == topo::this_host_identity().boot_id) add("127.0.0.1", true);
  for (std::string text; words >> text;) add(text, false);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<SocketAddress> out;
  for (const auto& [speed, address] : candidates) out.push_back(address);
  return out;
}

os::UniqueFd start_connecting(const SocketAddress& address) {
  os::UniqueFd file(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!file.is_open()) return file;
  if (::connect(file.get(), address.data(), address.size) != 0 && errno != EINPROGRESS)
    file.close();
  return file;
}

bool has_connected(int file) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace tutti::comm
