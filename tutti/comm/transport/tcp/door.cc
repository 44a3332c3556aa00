#include "tutti/comm/transport/tcp/door.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "tutti/topo/identity.h"

namespace tutti::comm {
namespace {

struct Interface {
  std::string name;
  in_addr address{};
  in_addr_t mask = 0;
};

std::vector<Interface> own_interfaces() {
  std::vector<Interface> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (const ifaddrs* entry = all; entry; entry = entry->ifa_next) {
    const bool is_usable = entry->ifa_addr && entry->ifa_netmask &&
                           entry->ifa_addr->sa_family == AF_INET && (entry->ifa_flags & IFF_UP) &&
                           !(entry->ifa_flags & IFF_LOOPBACK);
    if (!is_usable) continue;
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    const auto* mask = reinterpret_cast<const sockaddr_in*>(entry->ifa_netmask);
    out.push_back({entry->ifa_name, address->sin_addr, mask->sin_addr.s_addr});
  }
  ::freeifaddrs(all);
  return out;
}

// Megabits per second; -1 where the kernel does not say.
int speed_of(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  int speed = -1;
  return file >> speed ? speed : -1;
}

bool is_named(const std::string& names, const std::string& name) {
  return names.empty() || ("," + names + ",").find("," + name + ",") != std::string::npos;
}

// -2: in no network of mine.
int speed_towards(const in_addr& address, const std::vector<Interface>& mine) {
  int best = -2;
  for (const Interface& interface : mine) {
    const bool shares = ((interface.address.s_addr ^ address.s_addr) & interface.mask) == 0;
    if (shares) best = std::max(best, speed_of(interface.name));
  }
  return best;
}

}  // namespace

void File::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

void set_socket_option(int file, int level, int option, int value) {
  ::setsockopt(file, level, option, &value, sizeof value);
}

Door Door::open(const std::string& interfaces, int port) {
  Door door{File(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), ""};
  const int number = door.file.number();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  // Connections of a job that just ended must not keep the next from its port.
  if (port != 0) set_socket_option(number, SOL_SOCKET, SO_REUSEADDR, 1);
  if (!door.file.is_open() || ::bind(number, plain, size) != 0 ||
      ::listen(number, SOMAXCONN) != 0 || ::getsockname(number, plain, &size) != 0) {
    const int error = errno;
    door.file.close();
    errno = error;
    return door;
  }
  door.text = fmt::format("{} {}", ntohs(address.sin_port), topo::this_host_identity().boot_id);
  for (const Interface& interface : own_interfaces()) {
    char text[INET_ADDRSTRLEN];
    if (!is_named(interfaces, interface.name)) continue;
    if (::inet_ntop(AF_INET, &interface.address, text, sizeof text)) {
      door.text += fmt::format(" {}", text);
    }
  }
  return door;
}

std::vector<sockaddr_in> ways_to(const std::string& door) {
  std::istringstream words(door);
  int port = 0;
  std::string boot_id;
  words >> port >> boot_id;
  const std::vector<Interface> mine = own_interfaces();
  std::vector<std::pair<int, sockaddr_in>> ways;
  const auto add = [&](const std::string& text, bool is_loopback) {
    sockaddr_in way{};
    way.sin_family = AF_INET;
    way.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::inet_pton(AF_INET, text.c_str(), &way.sin_addr) != 1) return;
    ways.emplace_back(is_loopback ? INT32_MAX : speed_towards(way.sin_addr, mine), way);
  };
  if (!boot_id.empty() && boot_id == topo::this_host_identity().boot_id) add("127.0.0.1", true);
  for (std::string text; words >> text;) add(text, false);
  std::stable_sort(ways.begin(), ways.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<sockaddr_in> out;
  for (const auto& [speed, way] : ways) out.push_back(way);
  return out;
}

File start_connecting(const sockaddr_in& address) {
  File file(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
  if (!file.is_open()) return file;
  if (::connect(file.number(), plain, sizeof address) != 0 && errno != EINPROGRESS) file.close();
  return file;
}

bool has_connected(int file) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace tutti::comm
