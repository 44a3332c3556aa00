// Latency and bandwidth between two hosts: a TCP server and its client.
#pragma once

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tutti/auth/secret.h"
#include "tutti/launch/net/network.h"

namespace tutti::launch {

struct LinkSpeed {
  double latency = 0;    // seconds, half of the median one-byte round trip
  double bandwidth = 0;  // bytes/s at the receiver; 0: not measured
  std::string error;     // reason for a failed connection; empty: connected
};

// Serves clients sequentially on a separate thread until destroyed. Clients without the secret are rejected before
// anything else is read from them, and do not delay other clients.
class LinkProbeServer {
 public:
  // Listens on a free port of each of `addresses`. Throws IoError if one is not an address of this host or has no free
  // port.
  LinkProbeServer(const auth::Secret& secret, const std::vector<std::string>& addresses);
  ~LinkProbeServer();
  LinkProbeServer(const LinkProbeServer&) = delete;
  LinkProbeServer& operator=(const LinkProbeServer&) = delete;
  // Ports in the order of the addresses.
  std::vector<int> ports() const;

 private:
  void serve();

  auth::Secret secret_;
  std::vector<os::UniqueFd> listeners_;
  os::UniqueFd end_;  // eventfd that ends the thread
  std::thread thread_;
};

// Sends for `seconds`; 0: measures only the latency. Fails after 5 s without a reply.
LinkSpeed probe_link(const std::string& address, int port, const auth::Secret& secret,
                     double seconds);

}  // namespace tutti::launch
