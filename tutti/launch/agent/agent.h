// The agent of a rank, which mpirun starts instead of the program.
//
// It sets the variables of torch, pins the program where MPI has not, relays its output, and
// reports its exit to ddlrun. The connection to ddlrun is a lifeline: when it breaks, or ddlrun
// asks for it, the agent ends the program and all its descendants.
#pragma once

#include <string>
#include <vector>

namespace tutti::launch {

// Runs `words` as a rank, with standard input only if that is rank 0; returns its exit code, 128 +
// signal for a killed one. Without TUTTI_WATCH in the environment (the mpirun line was typed by
// hand) it becomes the program at once. Throws ConfigError when there is no program.
int run_agent(const std::vector<std::string>& words);

// Starts `words` `count` times as the ranks of a job on this machine, without MPI; ends all when
// one fails, and returns its exit code.
int start_here(int count, const std::vector<std::string>& words);

}  // namespace tutti::launch
