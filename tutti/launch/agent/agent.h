// Agent of a rank: the process that mpirun starts instead of the program.
//
// The agent connects back to ddlrun, authenticates and sends its rank. It then sets the variables of torch, pins the
// program if MPI has not, starts it, relays its output and reports its exit. When the connection to ddlrun breaks or
// ddlrun sends kStop, the agent ends the program and all its descendants. So no rank outlives ddlrun, whatever happens
// to mpirun.
#pragma once

#include <string>
#include <vector>

namespace tutti::launch {

// Runs `arguments` as a rank; only rank 0 gets standard input. Returns the exit code, or 128 + signal if the program
// was killed. Without TUTTI_WATCH in the environment (the mpirun line was typed by hand) the process execs the program
// directly. Throws ConfigError if `arguments` is empty.
int run_agent(const std::vector<std::string>& arguments);

// Starts `arguments` `count` times as the ranks of a job on this host, without MPI. Ends all ranks when one fails and
// returns its exit code.
int start_here(int count, const std::vector<std::string>& arguments);

}  // namespace tutti::launch
