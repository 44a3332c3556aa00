// A job without MPI, as its ranks know it before they meet.
#pragma once

#include <optional>
#include <string>

#include "tutti/auth/secret.h"

namespace tutti::comm {

struct LocalJob {
  int rank = 0;
  int size = 1;
  std::string id = "0";     // tells jobs of one user on one host apart
  double seconds = 60;      // that ranks wait for each other at the start
  std::string master = {};  // host of rank 0; empty: all ranks are on one
  int port = 0;             // there
  // By which ranks authenticate each other. None: on one host by the user they run as, which is
  // enough; between hosts not at all, which is logged as a warning.
  std::optional<auth::Secret> secret = {};
};

}  // namespace tutti::comm
