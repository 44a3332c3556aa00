// Notices over a communicator of their own, so that they pass whatever the messages do.
#pragma once

#include <list>
#include <optional>
#include <string>

#include "tutti/comm/transport/mpi/mpi_calls.h"
#include "tutti/comm/transport/transport.h"
#include "tutti/core/mutex.h"

namespace tutti::comm {

// Safe from every thread; never waits for another one inside MPI: what cannot be sent now goes out
// with the next call.
class MpiNotices {
 public:
  // The communicator must outlive this.
  explicit MpiNotices(MPI_Comm communicator) : communicator_(communicator) {}
  // Whether every notice has left this rank.
  bool flush();
  void send(int peer, const std::string& text);
  std::optional<Notice> next();

 private:
  static constexpr std::size_t kMaxUnsent = 10'000;  // then the peer is gone
  struct Outgoing {
    int peer;
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
    bool is_started = false;
  };
  // Both inside MPI.
  void push() TUTTI_REQUIRES(mutex_);
  std::optional<Notice> pull() TUTTI_REQUIRES(mutex_);

  const MPI_Comm communicator_;
  Mutex mutex_;
  std::list<Outgoing> outgoing_ TUTTI_GUARDED_BY(mutex_);  // MPI reads the texts where they are
  Notice incoming_ TUTTI_GUARDED_BY(mutex_);
  MPI_Request receiving_ TUTTI_GUARDED_BY(mutex_) = MPI_REQUEST_NULL;
};

}  // namespace tutti::comm
