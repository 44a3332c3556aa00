// Where the ranks of a job without MPI meet: rank 0 serves an abstract Unix socket, or a TCP port
// for ranks of other hosts; the others keep a connection to it.
#pragma once

#include <string>
#include <vector>

#include "tutti/comm/transport/local/connection.h"
#include "tutti/comm/transport/local/local_transport.h"

namespace tutti::comm {

class Meeting {
 public:
  // Returns when all have come; see start_local for how it fails.
  explicit Meeting(const LocalJob& job);
  // As Transport::exchange. Throws CommError on every rank when one ended instead.
  std::vector<std::string> exchange(const std::string& mine);

 private:
  void host();
  void visit();
  Connection listen() const;
  Connection call() const;
  std::string place() const;  // where they meet, for people
  void admit(Connection visitor);
  std::string missing_ranks() const;
  std::string gather(const std::string& mine);

  const LocalJob job_;
  std::vector<Connection> connections_;  // rank 0: by rank; the others: one, to rank 0
};

}  // namespace tutti::comm
