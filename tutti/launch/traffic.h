// How fast one host reaches another: a small TCP service, and the one who asks it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "tutti/launch/network.h"

namespace tutti::launch {

struct Traffic {
  double latency = 0;    // seconds, half of the median round trip of one byte
  double bandwidth = 0;  // bytes per second as the receiver counts them; 0: not measured
  std::string error;     // why there was no connection; empty: there was
};

// Answers on a port of its own, one visitor after another, on a thread of its own, until destroyed.
class TrafficService {
 public:
  // Visitors must bring `key`. Throws IoError when there is no port to be had.
  explicit TrafficService(std::uint64_t key);
  ~TrafficService();
  TrafficService(const TrafficService&) = delete;
  TrafficService& operator=(const TrafficService&) = delete;
  int port() const { return port_of(door_); }

 private:
  void serve();

  std::uint64_t key_;
  File door_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

// Sends for `seconds`; 0: only the latency. Gives up after some 5 s.
Traffic measure_traffic(const std::string& address, int port, std::uint64_t key, double seconds);

}  // namespace tutti::launch
