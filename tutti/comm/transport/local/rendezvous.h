// Rendezvous (bootstrap) of the ranks of a job without MPI.
//
// Rank 0 listens on an abstract Unix socket, or on a TCP port if the job has several hosts. Every other rank connects,
// retrying until rank 0 listens or the time is over. The two authenticate each other: by user ID on one host, and by
// the secret of the job if there is one. The rank then sends a RankHello with its rank, the size and a hash of the job
// id. Rank 0 rejects a connection that does not fit, without failing itself, because it may belong to another job. When
// all ranks have joined, rank 0 sends each a reply: empty, or a generated secret if the job has none. If the time is
// over first, every rank fails with a message that names the missing ranks.
//
// The connections stay open and form a star around rank 0. `exchange` uses them as an all-gather of strings: rank 0
// collects one string per rank and sends all of them to every rank.
#pragma once

#include <string>
#include <vector>

#include "tutti/comm/transport/local/connection.h"
#include "tutti/comm/transport/local/local_job.h"
#include "tutti/comm/transport/local/rendezvous_listener.h"

namespace tutti::comm {

class Rendezvous {
 public:
  // Blocks until all ranks have joined. Throws as described at start_local.
  explicit Rendezvous(const LocalJob& job);
  // Same as Transport::exchange. Throws CommError on every rank if a rank has exited.
  std::vector<std::string> exchange(const std::string& mine);
  // Secret of the job, or the one that rank 0 generated.
  const auth::Secret& secret() const { return *secret_; }

 private:
  void serve();
  void join();
  Connection connect() const;
  // True if the listening process is rank 0, as far as it can be verified.
  bool is_rank_zero(const Connection& connection, double seconds) const;
  Connection connect_until_accepted() const;
  std::string address() const;  // address of the rendezvous, human-readable
  void accept_rank(RendezvousListener::Arrival arrival);
  std::string missing_ranks() const;
  std::string gather(const std::string& mine);

  const LocalJob job_;
  std::optional<auth::Secret> secret_;
  std::vector<Connection> connections_;  // rank 0: by rank; the others: one, to rank 0
};

}  // namespace tutti::comm
