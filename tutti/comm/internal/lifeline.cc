#include "tutti/comm/internal/lifeline.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include "tutti/core/log.h"
#include "tutti/topo/identity.h"

namespace tutti::comm {
namespace {

constexpr char kGoodbye = 'b';
constexpr std::size_t kMostLines = 16;  // strangers included

void set(int file, int level, int option, int value) {
  ::setsockopt(file, level, option, &value, sizeof value);
}

// So that the kernel finds out about a host that lost its power: 5 s + 5 x 2 s.
void keep_alive(int file) {
  set(file, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(file, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(file, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(file, IPPROTO_TCP, TCP_KEEPCNT, 5);
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (const ifaddrs* entry = all; entry; entry = entry->ifa_next) {
    const bool is_usable = entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET &&
                           (entry->ifa_flags & IFF_UP) && !(entry->ifa_flags & IFF_LOOPBACK);
    if (!is_usable) continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text)) out.emplace_back(text);
  }
  ::freeifaddrs(all);
  return out;
}

}  // namespace

Lifeline::~Lifeline() {
  for (const Line& line : lines_) {
    if (line.is_established) ::send(line.file, &kGoodbye, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    ::close(line.file);
  }
  if (door_ >= 0) ::close(door_);
}

// "<port> <boot id> <address> ...": machines that are one and the same also reach each other over
// their loopback.
std::string Lifeline::open(std::uint64_t job, int rank) {
  mine_ = {.job = job, .rank = rank};
  door_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (door_ < 0 || ::bind(door_, plain, size) != 0 || ::listen(door_, 8) != 0 ||
      ::getsockname(door_, plain, &size) != 0) {
    return "";
  }
  std::string text =
      fmt::format("{} {}", ntohs(address.sin_port), topo::this_host_identity().boot_id);
  for (const std::string& own : own_addresses()) text += " " + own;
  return text;
}

void Lifeline::connect(int rank, const std::string& address) {
  std::istringstream words(address);
  int port = 0;
  std::string boot_id;
  words >> port >> boot_id;
  Line line{.rank = rank};
  const auto add = [&](const std::string& text) {
    sockaddr_in target{};
    target.sin_family = AF_INET;
    target.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::inet_pton(AF_INET, text.c_str(), &target.sin_addr) == 1) line.addresses.push_back(target);
  };
  if (!boot_id.empty() && boot_id == topo::this_host_identity().boot_id) add("127.0.0.1");
  for (std::string text; words >> text;) add(text);
  try_next(line);
  if (line.file >= 0) lines_.push_back(std::move(line));
}

void Lifeline::try_next(Line& line) {
  if (line.file >= 0) ::close(std::exchange(line.file, -1));
  while (!line.addresses.empty()) {
    const sockaddr_in target = line.addresses.front();
    line.addresses.erase(line.addresses.begin());
    const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0) return;
    const timeval limit{0, 300'000};
    ::setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(file, reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0 &&
        ::send(file, &mine_, sizeof mine_, MSG_NOSIGNAL) == sizeof mine_) {
      keep_alive(file);
      line.file = file;
      return;
    }
    ::close(file);
  }
  log::debug("no connection to rank {} to notice its end by.", line.rank);
}

void Lifeline::admit() {
  for (;;) {
    const int file = ::accept4(door_, nullptr, nullptr, SOCK_CLOEXEC);
    if (file < 0) return;
    if (lines_.size() >= kMostLines) {
      ::close(file);
      continue;
    }
    keep_alive(file);
    lines_.push_back({.file = file});
  }
}

void Lifeline::add_files(std::vector<pollfd>& files) const {
  if (door_ >= 0) files.push_back({door_, POLLIN, 0});
  for (const Line& line : lines_) files.push_back({line.file, POLLIN, 0});
}

std::vector<int> Lifeline::find_dead() {
  if (door_ >= 0) admit();
  std::vector<int> dead;
  for (Line& line : lines_) {
    pollfd file{line.file, POLLIN, 0};
    if (::poll(&file, 1, 0) <= 0) continue;
    if (!line.is_established) {
      line.is_established = hear_hello(line);
      if (!line.is_established) try_next(line);
    } else {
      if (has_died(line)) dead.push_back(line.rank);
      ::close(std::exchange(line.file, -1));
    }
  }
  std::erase_if(lines_, [](const Line& line) { return line.file < 0; });
  return dead;
}

// A caller knows whom it expects; a visitor is answered with the same words.
bool Lifeline::hear_hello(Line& line) {
  Hello hello;
  const auto bytes = ::recv(line.file, &hello, sizeof hello, MSG_DONTWAIT);
  if (bytes != sizeof hello || hello.job != mine_.job) return false;
  const bool is_visitor = line.rank < 0;
  if (!is_visitor) return hello.rank == line.rank;
  line.rank = hello.rank;
  return ::send(line.file, &mine_, sizeof mine_, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof mine_;
}

bool Lifeline::has_died(Line& line) {
  char word = 0;
  return ::recv(line.file, &word, 1, MSG_DONTWAIT) != 1 || word != kGoodbye;
}

}  // namespace tutti::comm
