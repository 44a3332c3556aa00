// What every rank finds in its environment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tutti/launch/hosts/hosts.h"
#include "tutti/launch/placement/rankfile.h"
#include "tutti/os/environment.h"

namespace tutti::launch {

using os::Environment;
using os::own_environment;

// `own` without what an outer ddlrun, of which this process is a rank, has set for its ranks: their
// numbers, port, run folder and secret. Two jobs that share these would mix. What a user has
// changed inside the rank stays.
Environment without_outer_job(Environment own);
// Makes this the environment of the calling process.
void leave_outer_job();

struct EnvironmentRequest {
  std::string mode = "p";  // complete_mode's
  bool sets_ddl_options = true;
  std::vector<std::string> ddl_arguments = {};
  std::vector<std::string> exports = {};  // NAME or NAME=value, from -x
  std::string master_address = "127.0.0.1";
  int master_port = 0;
  int restart = 0;  // how often the job was started before
  std::string run_folder = {};
  std::string python_folder = {};  // of our modules; empty: none
};

// What is passed on: variables that programs, Python, MPI, threads and accelerators read, whatever
// -x names, and what ddlrun sets itself: DDL_OPTIONS, DDL_HOST_LIST, WORLD_SIZE, MASTER_ADDR,
// MASTER_PORT, OMP_NUM_THREADS, ... What the user has set wins, but for the facts of the job. (The
// rank's own numbers are set where it starts.) Throws ConfigError when -x names what is not set.
Environment rank_environment(const Environment& own, const Rankfile& rankfile,
                             const EnvironmentRequest& request);

// The folder of our Python modules for a program in `folder`: beside it in a build tree, or where
// it was installed; "" when there is none.
std::string find_python_folder(const std::string& folder);

}  // namespace tutti::launch
