// Out-of-band messages over a dedicated communicator, independent of the data messages.
#pragma once

#include <list>
#include <optional>
#include <string>

#include "tutti/comm/transport/mpi/mpi_calls.h"
#include "tutti/comm/transport/transport.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

// Thread-safe. Never blocks on another thread inside MPI: messages that cannot be sent now are sent by the next call.
class MpiOobChannel {
 public:
  // `communicator` must outlive this object.
  explicit MpiOobChannel(MPI_Comm communicator) : communicator_(communicator) {}
  // Returns true if every message has been sent.
  bool flush();
  void send(int peer, const std::string& text);
  std::optional<OutOfBandMessage> next();

 private:
  static constexpr std::size_t kMaxUnsent = 10'000;  // beyond this the peer has exited
  struct Outgoing {
    int peer;
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
    bool is_started = false;
  };
  // Called with the lock held and inside MpiCalls::guard.
  void push() TUTTI_REQUIRES(mutex_);
  std::optional<OutOfBandMessage> pull() TUTTI_REQUIRES(mutex_);

  const MPI_Comm communicator_;
  Mutex mutex_;
  std::list<Outgoing> outgoing_ TUTTI_GUARDED_BY(mutex_);  // MPI reads the texts in place
  OutOfBandMessage incoming_ TUTTI_GUARDED_BY(mutex_);
  MPI_Request receiving_ TUTTI_GUARDED_BY(mutex_) = MPI_REQUEST_NULL;
};

}  // namespace tutti::comm
