#include "tutti/launch/traffic.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"

namespace tutti::launch {
namespace {

// The visitor sends its key, then one-byte pings that are echoed, then a word that ends them. What
// follows is counted until the visitor stops sending; the service tells how much came in what time.
constexpr char kPing = 'p', kFlood = 'f';
constexpr int kPings = 40;
constexpr double kPatience = 5;
constexpr std::size_t kPiece = 1 << 18;

struct Count {
  std::uint64_t bytes = 0;
  double seconds = 0;
};

void limit_waiting(const File& socket) {
  const timeval limit{static_cast<time_t>(kPatience), 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool receive_all(const File& socket, void* data, std::size_t bytes) {
  return ::recv(socket.get(), data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

// The first piece only starts the clock: by then the way is open.
Count count_flood(const File& visitor) {
  std::vector<char> piece(kPiece);
  Count count;
  Stopwatch watch;
  bool has_begun = false;
  for (;;) {
    const auto bytes = ::recv(visitor.get(), piece.data(), piece.size(), 0);
    if (bytes <= 0) break;
    if (has_begun) count.bytes += static_cast<std::uint64_t>(bytes);
    if (!has_begun) watch.restart();
    has_begun = true;
    count.seconds = watch.seconds();
  }
  return count;
}

void answer(const File& visitor, std::uint64_t key) {
  limit_waiting(visitor);
  send_at_once(visitor);
  std::uint64_t theirs = 0;
  if (!receive_all(visitor, &theirs, sizeof theirs) || theirs != key) return;
  char word = 0;
  while (receive_all(visitor, &word, 1) && word == kPing) {
    if (!send_all(visitor.get(), &word, 1)) return;
  }
  if (word != kFlood) return;
  const Count count = count_flood(visitor);
  send_all(visitor.get(), &count, sizeof count);
}

double median_round_trip(const File& service) {
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

double flood(const File& service, double seconds) {
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

TrafficService::TrafficService(std::uint64_t key) : key_(key), door_(listen_on(0)) {
  if (!door_.is_open()) throw IoError("DDL-3-32", "This host has no free port to listen on.");
  thread_ = std::thread([this] { serve(); });
}

TrafficService::~TrafficService() {
  ends_ = true;
  ::shutdown(door_.get(), SHUT_RDWR);  // wakes the thread
  thread_.join();
}

void TrafficService::serve() {
  while (!ends_) {
    const File visitor(::accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (visitor.is_open()) answer(visitor, key_);
  }
}

Traffic measure_traffic(const std::string& address, int port, std::uint64_t key, double seconds) {
  Traffic traffic;
  const File service = connect_to(address, port, kPatience, &traffic.error);
  if (!service.is_open()) return traffic;
  limit_waiting(service);
  send_at_once(service);
  const double round_trip =
      send_all(service.get(), &key, sizeof key) ? median_round_trip(service) : -1;
  if (round_trip < 0) {
    traffic.error = "the connection broke";
    return traffic;
  }
  traffic.latency = round_trip / 2;
  if (seconds <= 0) return traffic;
  traffic.bandwidth = flood(service, seconds);
  if (traffic.bandwidth < 0) traffic.error = "the connection broke while data was sent";
  return traffic;
}

}  // namespace tutti::launch
