// Ranks as processes of this host, for runs that no launcher started.
#pragma once

#include <string>
#include <vector>

namespace tutti::train {

struct LocalRanks {
  std::vector<std::string> arguments;  // the program first, with its path
  int ranks = 1;
  std::vector<std::string> environment = {};  // "NAME=value", added to ours
};

// Starts the program once per rank with RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE and
// TUTTI_JOB, each bound to its share of the processors this process may use, and waits for all.
// When one fails, the others are given two seconds to say why and are ended. SIGINT and SIGTERM are
// passed on. Returns 0, or the exit code of the first rank that failed (128 + signal when one
// killed it; that is said on stderr, unless it was SIGINT, SIGTERM or SIGHUP, or we ourselves).
// Ranks die with this process.
int run_local_ranks(const LocalRanks& job);

}  // namespace tutti::train
