// The agent of a rank: what mpirun starts in the place of the program.
//
// It gives the program its rank in the words of torch, pins it where MPI has not, passes on what it
// prints, and tells ddlrun how it ended. The connection to ddlrun is a lifeline: when it breaks, or
// ddlrun says so, the agent ends the program and everything that it has started.
#pragma once

#include <string>
#include <vector>

namespace tutti::launch {

// Runs `words` as a rank; returns its exit code, 128 + signal for a killed one. Without TUTTI_WATCH
// in the environment (the mpirun line was typed by hand) it becomes the program at once. Throws
// ConfigError when there is no program.
int run_agent(const std::vector<std::string>& words);

// Starts `words` `count` times as the ranks of a job on this machine; ends all when one fails, and
// returns its exit code. What mpirun does, without MPI.
int start_here(int count, const std::vector<std::string>& words);

}  // namespace tutti::launch
