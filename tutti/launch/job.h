// A running job: mpirun, the agents of the ranks, and what is to be done with them.
#pragma once

#include <string>
#include <vector>

#include "tutti/launch/environment.h"
#include "tutti/launch/rankfile.h"
#include "tutti/launch/run_folder.h"

namespace tutti::launch {

struct JobSpec {
  std::vector<std::string> command{};    // mpirun and all its words
  Environment environment{};             // in which it is started
  std::vector<std::string> addresses{};  // of this host, by which agents call home
  Rankfile rankfile{};                   // where each rank is
  std::vector<std::string> cpus = {};    // for each rank, to pin it; empty: as it is
  double timeout = 0;                    // seconds; 0: none
  bool tag_output = false;
};

struct JobEnd {
  int exit_code = 0;
  std::string message = {};  // coded, what went wrong first; empty: nothing
  bool may_restart = false;  // a rank or host failed; not: interrupted, out of time
};

// Runs the job to its end. Output goes to ours and, rank by rank, to the run folder. The first rank
// that fails, a signal to us, the time-out or the end of mpirun ends all ranks, on every host,
// within 5 s; whatever happens, nothing of the job runs when this returns, but on hosts that cannot
// be reached. SIGINT, SIGTERM and SIGHUP are caught meanwhile. All other children of the process
// are killed too: call it from the main thread of a program that has none.
JobEnd run_job(const JobSpec& spec, RunFolder& folder);

}  // namespace tutti::launch
