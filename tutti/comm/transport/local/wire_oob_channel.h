// Out-of-band messages over a dedicated wire, independent of the data messages. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "tutti/comm/transport/transport.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

class WireOobChannel {
 public:
  // `wire` must be connected and must outlive this object. `size`: number of ranks of the job, including this one.
  WireOobChannel(Wire& wire, int size);

  // Sends a message in the background. Never blocks. It is lost if the peer has exited.
  void send(int peer, const std::string& text);
  // Returns the next message that has arrived, if any.
  std::optional<OutOfBandMessage> next();

 private:
  static constexpr std::size_t kMaxUnsent = 10'000;  // beyond this the peer is unreachable
  // A message is sent as two transfers: its size and its text.
  struct Outgoing {
    std::string text;
    std::uint64_t bytes = 0;
    std::unique_ptr<Transfer> size_transfer, text_transfer;
  };
  struct Incoming {
    int from = 0;
    std::string text;
    std::uint64_t bytes = 0;
    std::unique_ptr<Transfer> size_transfer, text_transfer;
  };
  void forget_sent() TUTTI_REQUIRES(mutex_);
  bool has_arrived(Incoming& incoming) TUTTI_REQUIRES(mutex_);
  void expect_next(Incoming& incoming) TUTTI_REQUIRES(mutex_);

  Wire& wire_;
  Mutex mutex_;
  std::list<Outgoing> outgoing_ TUTTI_GUARDED_BY(mutex_);
  std::list<Incoming> incoming_ TUTTI_GUARDED_BY(mutex_);  // one per rank
};

}  // namespace tutti::comm
