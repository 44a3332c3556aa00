#include "tutti/comm/faults/keepalive_ring.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tutti/core/clock.h"
#include "tutti/core/log.h"

namespace tutti::comm {
namespace {

constexpr char kGoodbye = 'b';
constexpr std::size_t kMostLines = 16;
constexpr auth::AcceptQueue::Limits kLimits = {.max_pending = 16, .seconds = 10};

// Lets the kernel detect a host that has lost power: 5 s idle, then 5 probes 2 s apart.
void enable_keepalive(int file) {
  set_socket_option(file, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_socket_option(file, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set_socket_option(file, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_socket_option(file, IPPROTO_TCP, TCP_KEEPCNT, 5);
}

}  // namespace

KeepaliveRing::~KeepaliveRing() {
  for (const Line& line : lines_) {
    if (line.is_established) ::send(line.file, &kGoodbye, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    ::close(line.file);
  }
}

std::string KeepaliveRing::open(const auth::Secret& secret, int rank,
                                const std::string& interfaces) {
  mine_ = {.rank = rank};
  secret_ = secret;
  unauthenticated_.emplace(secret, kPurpose, kLimits);
  listener_ = Listener::open(interfaces);
  return listener_.text;
}

void KeepaliveRing::connect(int rank, const std::string& address) {
  Line line;
  line.rank = rank;
  line.addresses = candidate_addresses(address);
  try_next(line);
  if (line.file >= 0) lines_.push_back(std::move(line));
}

void KeepaliveRing::try_next(Line& line) {
  if (line.file >= 0) ::close(std::exchange(line.file, -1));
  while (!line.addresses.empty()) {
    const topo::SocketAddress target = line.addresses.front();
    line.addresses.erase(line.addresses.begin());
    const int file = ::socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0) continue;
    const timeval limit{0, 300'000};
    ::setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(file, target.data(), target.size) == 0) {
      enable_keepalive(file);
      line.file = file;
      line.handshake.emplace(*secret_, auth::Role::kConnector, kPurpose);
      return;
    }
    ::close(file);
  }
  log::debug("no keepalive connection to rank {}.", line.rank);
}

void KeepaliveRing::accept_connections() {
  for (const os::UniqueFd& listener : listener_.files) {
    for (const int file : unauthenticated_->accept_from(listener.get())) {
      if (lines_.size() >= kMostLines) {
        ::close(file);
        continue;
      }
      enable_keepalive(file);
      Line line;
      line.file = file;
      lines_.push_back(std::move(line));
    }
  }
}

void KeepaliveRing::add_files(std::vector<pollfd>& files) const {
  for (const os::UniqueFd& listener : listener_.files) files.push_back({listener.get(), POLLIN, 0});
  if (unauthenticated_) unauthenticated_->add_files(&files);
  for (const Line& line : lines_) files.push_back({line.file, line.events(), 0});
}

std::size_t KeepaliveRing::established() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(lines_, [](const Line& line) { return line.is_established; }));
}

void KeepaliveRing::settle(std::size_t lines, double seconds) {
  const Stopwatch watch;
  while (established() < lines && watch.seconds() < seconds && dead_.empty()) {
    std::vector<pollfd> files;
    add_files(files);
    ::poll(files.data(), files.size(), 10);
    dead_ = find_dead();
  }
}

std::vector<int> KeepaliveRing::find_dead() {
  accept_connections();
  std::vector<int> dead = std::exchange(dead_, {});
  for (Line& line : lines_) {
    pollfd file{line.file, line.events(), 0};
    if (::poll(&file, 1, 0) <= 0) continue;
    if (!line.is_established) {
      if (!advance(line)) try_next(line);
    } else {
      if (has_died(line)) dead.push_back(line.rank);
      ::close(std::exchange(line.file, -1));
    }
  }
  std::erase_if(lines_, [](const Line& line) { return line.file < 0; });
  return dead;
}

bool KeepaliveRing::advance(Line& line) {
  if (line.handshake) return authenticate(line);
  line.is_established = read_hello(line);
  return line.is_established;
}

bool KeepaliveRing::authenticate(Line& line) const {
  const auto state = line.handshake->advance(line.file);
  if (state == auth::Handshake::State::kInProgress) return true;
  line.handshake.reset();
  return state == auth::Handshake::State::kAuthenticated &&
         ::send(line.file, &mine_, sizeof mine_, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof mine_;
}

// The connecting side knows which rank to expect; the accepting side replies with its own Hello.
bool KeepaliveRing::read_hello(Line& line) {
  Hello hello;
  const auto bytes = ::recv(line.file, &hello, sizeof hello, MSG_DONTWAIT);
  if (bytes != sizeof hello) return false;
  const bool is_visitor = line.rank < 0;
  if (!is_visitor) return hello.rank == line.rank;
  line.rank = hello.rank;
  return ::send(line.file, &mine_, sizeof mine_, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof mine_;
}

bool KeepaliveRing::has_died(Line& line) {
  char word = 0;
  return ::recv(line.file, &word, 1, MSG_DONTWAIT) != 1 || word != kGoodbye;
}

}  // namespace tutti::comm
