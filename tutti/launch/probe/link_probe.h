// Latency and bandwidth between two hosts: a TCP service, and its client.
#pragma once

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tutti/auth/secret.h"
#include "tutti/launch/net/network.h"

namespace tutti::launch {

struct LinkSpeed {
  double latency = 0;    // seconds, half of the median round trip of one byte
  double bandwidth = 0;  // bytes per second as the receiver counts them; 0: not measured
  std::string error;     // why there was no connection; empty: there was
};

// Serves one client after another on a separate thread until destroyed. Clients without the secret
// are rejected before anything is read from them, and keep no other client waiting.
class LinkProbeServer {
 public:
  // Listens on a free port of each of `addresses`. Throws IoError if one is not an address of this
  // host, or has no free port.
  LinkProbeServer(const auth::Secret& secret, const std::vector<std::string>& addresses);
  ~LinkProbeServer();
  LinkProbeServer(const LinkProbeServer&) = delete;
  LinkProbeServer& operator=(const LinkProbeServer&) = delete;
  // In the order of the addresses.
  std::vector<int> ports() const;

 private:
  void serve();

  auth::Secret secret_;
  std::vector<os::UniqueFd> listeners_;
  os::UniqueFd end_;  // an eventfd that ends the thread
  std::thread thread_;
};

// Sends for `seconds`; 0: only the latency. Gives up after 5 s without an answer.
LinkSpeed probe_link(const std::string& address, int port, const auth::Secret& secret,
                     double seconds);

}  // namespace tutti::launch
