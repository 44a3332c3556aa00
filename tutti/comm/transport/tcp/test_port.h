// For tests: a port to meet at.
#pragma once

#include <random>

#include "tutti/comm/transport/tcp/listener.h"

namespace tutti::comm {

// One that nobody listens on now, below those that the kernel gives to whoever calls out: a rank
// that calls before the other listens could get that very one.
inline int free_port() {
  std::random_device random;
  for (;;) {
    const int port = 20'000 + static_cast<int>(random() % 12'000);
    if (Listener::open("", port).is_open()) return port;
  }
}

}  // namespace tutti::comm
