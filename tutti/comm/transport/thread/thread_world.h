// Ranks as threads of one process: for tests, and for emulating several hosts on one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

struct ThreadWorldState;

// Thread-safe. Transports and transfers share ownership of the state they use.
class ThreadWorld {
 public:
  // Messages up to this size are copied by `send`, so they arrive even if the sender cancels or ends. The memory of
  // larger messages is read until the receiver has taken them.
  static constexpr std::size_t kCopiedBytes = 16 * 1024;

  // `host_names`: the emulated host of each rank; empty: all ranks are on one host.
  explicit ThreadWorld(int size, std::vector<std::string> host_names = {});

  int size() const;
  // Transport of one rank, for use by its thread. Throws ConfigError if `rank` is out of range.
  std::unique_ptr<Transport> transport(int rank) const;

  // Calls `body` on one thread per rank, with the rank as log tag, and waits for all threads. If a rank throws,
  // exchanges with it fail; when all threads have ended, the first exception is rethrown.
  void run(const std::function<void(Transport&)>& body);

  // Fault injection. Acts like the death of a process: messages of the rank that were not received are lost, later
  // messages from and to it never arrive, and an exchange with it fails.
  void kill(int rank);
  // Acts like SIGSTOP: messages of the rank do not arrive until `resume`; then they all arrive in order.
  void pause(int rank);
  void resume(int rank);

 private:
  void end(int rank);
  std::shared_ptr<ThreadWorldState> state_;
};

}  // namespace tutti::comm
