// Parameters of a job without MPI, known to each rank before the rendezvous.
#pragma once

#include <optional>
#include <string>

#include "tutti/auth/secret.h"

namespace tutti::comm {

struct LocalJob {
  int rank = 0;
  int size = 1;
  std::string id = "0";     // distinguishes jobs of one user on one host
  double seconds = 60;      // timeout of the rendezvous
  std::string master = {};  // host of rank 0; empty: all ranks are on one host
  int port = 0;             // port of rank 0 on `master`
  // Authenticates the ranks to each other. If empty, ranks on one host are authenticated by their user ID, which is
  // sufficient; ranks on several hosts are not authenticated, which is logged as a warning.
  std::optional<auth::Secret> secret = {};
};

}  // namespace tutti::comm
