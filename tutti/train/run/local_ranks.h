// Ranks as processes on this host, for runs without a launcher.
#pragma once

#include <string>
#include <vector>

namespace tutti::train {

struct LocalRanks {
  std::vector<std::string> arguments;  // program with its path first
  int ranks = 1;
  std::vector<std::string> environment = {};  // "NAME=value", in addition to that of this process
};

// Starts the program once per rank with RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE and TUTTI_JOB, each bound to its
// share of the CPUs of this process, and waits for all. If a rank fails, the others have two seconds to report errors
// before they are killed. SIGINT and SIGTERM are forwarded. Returns 0, or the exit code of the first rank that failed
// (128 + signal if it was killed; then stderr has a message, unless the signal was SIGINT, SIGTERM or SIGHUP or came
// from this process). Ranks are killed if this process exits.
int run_local_ranks(const LocalRanks& job);

}  // namespace tutti::train
