// Ranks that are threads of one process: for tests, and for trying several hosts without having
// them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

struct ThreadWorldState;

// Safe from every thread. Transports and transfers keep what they need of it alive.
class ThreadWorld {
 public:
  // Messages up to this size are copied by `send`, so they arrive even when the sender gives up or
  // ends; the memory of larger ones is used until the receiver has taken it.
  static constexpr std::size_t kCopiedBytes = 16 * 1024;

  // `host_names`, one per rank, says which host each rank pretends to be on; none: all on one host.
  explicit ThreadWorld(int size, std::vector<std::string> host_names = {});

  int size() const;
  // The transport of one rank, for use by its thread. Throws ConfigError when there is no such
  // rank.
  std::unique_ptr<Transport> transport(int rank) const;

  // Calls `body` on one thread per rank, with the rank as log tag, and waits for all. When a rank
  // throws, exchanges with it fail; when all have ended, what the first of them threw is thrown
  // again.
  void run(const std::function<void(Transport&)>& body);

  // Faults. As with a process that died: what the rank sent and was not received is lost, what it
  // or others send to each other from now on never arrives, and an exchange with it fails.
  void kill(int rank);
  // As with a process that was stopped: nothing the rank sends arrives until `resume`, then all of
  // it, in order.
  void pause(int rank);
  void resume(int rank);

 private:
  void end(int rank);
  std::shared_ptr<ThreadWorldState> state_;
};

}  // namespace tutti::comm
