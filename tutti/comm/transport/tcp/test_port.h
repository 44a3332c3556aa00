// Free TCP ports for tests.
#pragma once

#include <random>

#include "tutti/comm/transport/tcp/listener.h"

namespace tutti::comm {

// Returns a port on which no process listens. It is below the range of ephemeral ports: otherwise a rank that connects
// before the other listens could be assigned that port itself.
inline int free_port() {
  std::random_device random;
  for (;;) {
    const int port = 20'000 + static_cast<int>(random() % 12'000);
    if (Listener::open("", port).is_open()) return port;
  }
}

}  // namespace tutti::comm
