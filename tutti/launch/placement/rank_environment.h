// Environment of the ranks.
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

// Removes the variables that an outer ddlrun, of which this process is a rank, has set for its ranks: rank numbers,
// port, run directory and secret. Two jobs that share them would interfere. Variables that the user changed inside the
// rank are kept.
Environment without_outer_job(Environment own);
// Applies without_outer_job to the environment of the calling process.
void leave_outer_job();

struct EnvironmentRequest {
  std::string mode = "p";  // result of complete_mode
  bool sets_ddl_options = true;
  std::vector<std::string> ddl_arguments = {};
  std::vector<std::string> exports = {};  // NAME or NAME=value, from -x
  std::string master_address = "127.0.0.1";
  int master_port = 0;
  int restart = 0;  // number of previous starts of the job
  std::string run_folder = {};
  std::string python_folder = {};  // path of Tutti's modules; empty: none
};

// Environment passed to every rank: variables read by programs, Python, MPI, thread libraries and accelerators; those
// named by -x; and those that ddlrun sets: DDL_OPTIONS, DDL_HOST_LIST, WORLD_SIZE, MASTER_ADDR, MASTER_PORT,
// OMP_NUM_THREADS and others. The user's values take precedence, except for facts of the job. The rank numbers are set
// by the agent. Throws ConfigError if -x names a variable that is not set.
Environment rank_environment(const Environment& own, const Rankfile& rankfile,
                             const EnvironmentRequest& request);

// Directory of Tutti's Python modules for a program in `folder`: in the build tree or in the installation; "" if there
// is none.
std::string find_python_folder(const std::string& folder);

}  // namespace tutti::launch
