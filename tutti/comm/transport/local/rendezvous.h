// Where the ranks of a job without MPI meet: rank 0 serves an abstract Unix socket, or a TCP port
// for ranks of other hosts; the others keep a connection to it.
#pragma once

#include <string>
#include <vector>

#include "tutti/comm/transport/local/connection.h"
#include "tutti/comm/transport/local/local_job.h"
#include "tutti/comm/transport/local/rendezvous_listener.h"

namespace tutti::comm {

class Rendezvous {
 public:
  // Returns when all have come; see start_local for how it fails.
  explicit Rendezvous(const LocalJob& job);
  // As Transport::exchange. Throws CommError on every rank when one ended instead.
  std::vector<std::string> exchange(const std::string& mine);
  // That of the job, or one that rank 0 generated.
  const auth::Secret& secret() const { return *secret_; }

 private:
  void host();
  void visit();
  Connection call() const;
  // Whether the process that listens there is rank 0, as far as this can be known.
  bool is_rank_zero(const Connection& connection, double seconds) const;
  Connection call_until_answered() const;
  std::string place() const;  // where they meet, for people
  void admit(RendezvousListener::Arrival arrival);
  std::string missing_ranks() const;
  std::string gather(const std::string& mine);

  const LocalJob job_;
  std::optional<auth::Secret> secret_;
  std::vector<Connection> connections_;  // rank 0: by rank; the others: one, to rank 0
};

}  // namespace tutti::comm
