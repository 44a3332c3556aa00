#include "tutti/launch/probe/link_probe.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tutti/auth/accept_queue.h"
#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/os/environment.h"

namespace tutti::launch {
namespace {

// After the handshake the client sends one-byte pings, which are echoed, then one byte that ends them. The server
// counts the bytes that follow until the client stops sending, and replies with the number of bytes and the time.
constexpr std::string_view kPurpose = "ddlrun traffic";
constexpr char kPing = 'p', kFlood = 'f';
constexpr int kPings = 40;
constexpr double kReplySeconds = 5;
constexpr std::size_t kPiece = 1 << 18;

struct Count {
  std::uint64_t bytes = 0;
  double seconds = 0;
};

void limit_waiting(const os::UniqueFd& socket) {
  const timeval limit{static_cast<time_t>(kReplySeconds), 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool receive_all(const os::UniqueFd& socket, void* data, std::size_t bytes) {
  return ::recv(socket.get(), data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

// The first piece only starts the clock, so connection set-up is not measured.
Count count_flood(const os::UniqueFd& client) {
  std::vector<char> piece(kPiece);
  Count count;
  Stopwatch watch;
  bool has_begun = false;
  for (;;) {
    const auto bytes = ::recv(client.get(), piece.data(), piece.size(), 0);
    if (bytes <= 0) break;
    if (has_begun) count.bytes += static_cast<std::uint64_t>(bytes);
    if (!has_begun) watch.restart();
    has_begun = true;
    count.seconds = watch.seconds();
  }
  return count;
}

void answer(const os::UniqueFd& client) {
  limit_waiting(client);
  set_tcp_nodelay(client);
  char word = 0;
  while (receive_all(client, &word, 1) && word == kPing) {
    if (!send_all(client.get(), &word, 1)) return;
  }
  if (word != kFlood) return;
  const Count count = count_flood(client);
  send_all(client.get(), &count, sizeof count);
}

double median_round_trip(const os::UniqueFd& service) {
  std::vector<double> times;
  for (int i = 0; i < kPings; ++i) {
    const Stopwatch watch;
    char word = kPing;
    if (!send_all(service.get(), &word, 1) || !receive_all(service, &word, 1)) return -1;
    times.push_back(watch.seconds());
  }
  std::ranges::nth_element(times, times.begin() + kPings / 2);
  return times[kPings / 2];
}

double flood(const os::UniqueFd& service, double seconds) {
  const std::vector<char> piece(kPiece);
  if (!send_all(service.get(), &kFlood, 1)) return -1;
  for (const Stopwatch watch; watch.seconds() < seconds;) {
    if (!send_all(service.get(), piece.data(), piece.size())) return -1;
  }
  ::shutdown(service.get(), SHUT_WR);
  Count count;
  if (!receive_all(service, &count, sizeof count) || count.seconds <= 0) return -1;
  return static_cast<double>(count.bytes) / count.seconds;
}

}  // namespace

LinkProbeServer::LinkProbeServer(const auth::Secret& secret,
                                 const std::vector<std::string>& addresses)
    : secret_(secret), end_(::eventfd(0, EFD_CLOEXEC)) {
  for (const std::string& address : addresses) {
    listeners_.push_back(listen_at(address));
    if (listeners_.back().is_open()) continue;
    throw IoError(
        "DDL-3-32",
        fmt::format("{} cannot listen on {}: {}. Its name must resolve to one of its addresses.",
                    os::host_name(), address, std::strerror(errno)));
  }
  thread_ = std::thread([this] { serve(); });
}

LinkProbeServer::~LinkProbeServer() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(end_.get(), &one, sizeof one);
  thread_.join();
}

std::vector<int> LinkProbeServer::ports() const {
  std::vector<int> ports;
  for (const os::UniqueFd& listener : listeners_) ports.push_back(port_of(listener));
  return ports;
}

void LinkProbeServer::serve() {
  auth::AcceptQueue queue(secret_, kPurpose, {.max_pending = 64, .seconds = kReplySeconds});
  for (;;) {
    std::vector<pollfd> files = {{end_.get(), POLLIN, 0}};
    for (const os::UniqueFd& listener : listeners_) files.push_back({listener.get(), POLLIN, 0});
    queue.add_files(&files);
    ::poll(files.data(), files.size(), queue.pending() > 0 ? 1000 : -1);
    if (files[0].revents) return;
    for (const os::UniqueFd& listener : listeners_) {
      for (const int socket : queue.accept_from(listener.get())) answer(os::UniqueFd(socket));
    }
  }
}

LinkSpeed probe_link(const std::string& address, int port, const auth::Secret& secret,
                     double seconds) {
  LinkSpeed speed;
  const os::UniqueFd service = connect_to(address, port, kReplySeconds, &speed.error);
  if (!service.is_open()) return speed;
  limit_waiting(service);
  set_tcp_nodelay(service);
  const bool is_known =
      auth::authenticate(service.get(), secret, auth::Role::kConnector, kPurpose, kReplySeconds);
  const double round_trip = is_known ? median_round_trip(service) : -1;
  if (round_trip < 0) {
    speed.error = "the connection broke";
    return speed;
  }
  speed.latency = round_trip / 2;
  if (seconds <= 0) return speed;
  speed.bandwidth = flood(service, seconds);
  if (speed.bandwidth < 0) speed.error = "the connection broke while data was sent";
  return speed;
}

}  // namespace tutti::launch
