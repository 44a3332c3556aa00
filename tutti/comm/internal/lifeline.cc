#include "tutti/comm/internal/lifeline.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tutti/core/log.h"

namespace tutti::comm {
namespace {

constexpr char kGoodbye = 'b';
constexpr std::size_t kMostLines = 16;  // strangers included

// So that the kernel finds out about a host that lost its power: 5 s + 5 x 2 s.
void keep_alive(int file) {
  set_socket_option(file, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_socket_option(file, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set_socket_option(file, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_socket_option(file, IPPROTO_TCP, TCP_KEEPCNT, 5);
}

}  // namespace

Lifeline::~Lifeline() {
  for (const Line& line : lines_) {
    if (line.is_established) ::send(line.file, &kGoodbye, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    ::close(line.file);
  }
}

std::string Lifeline::open(std::uint64_t job, int rank) {
  mine_ = {.job = job, .rank = rank};
  door_ = Door::open();
  return door_.text;
}

void Lifeline::connect(int rank, const std::string& address) {
  Line line{.rank = rank, .addresses = ways_to(address)};
  try_next(line);
  if (line.file >= 0) lines_.push_back(std::move(line));
}

void Lifeline::try_next(Line& line) {
  if (line.file >= 0) ::close(std::exchange(line.file, -1));
  while (!line.addresses.empty()) {
    const topo::SocketAddress target = line.addresses.front();
    line.addresses.erase(line.addresses.begin());
    const int file = ::socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0) continue;
    const timeval limit{0, 300'000};
    ::setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(file, target.data(), target.size) == 0 &&
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
    const int file = ::accept4(door_.file.number(), nullptr, nullptr, SOCK_CLOEXEC);
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
  if (door_.file.is_open()) files.push_back({door_.file.number(), POLLIN, 0});
  for (const Line& line : lines_) files.push_back({line.file, POLLIN, 0});
}

std::vector<int> Lifeline::find_dead() {
  if (door_.file.is_open()) admit();
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
