// Runs a job: mpirun, the agents of the ranks, and their supervision.
//
// The poll loop of run_job waits for signals, mpirun and the connections of all agents. A job passes through these
// states:
// 1. Starting: mpirun starts one agent per rank; each connects back, authenticates and sends Hello.
// 2. Running: agents send output and the exit of their program. A rank that exits with 0 is counted as succeeded.
// 3. Failing: after the first failed or lost rank, the others get up to 1 s to report their errors and to exit;
//    root_cause then selects the rank that failed first.
// 4. Ending: all agents receive kStop, after a failure, a signal, the timeout or an unexpected end of mpirun. Agents
//    end their programs within 2 s. mpirun then exits by itself; if it does not, it gets SIGTERM and later SIGKILL.
// 5. Over: remaining descendants are killed and the JobEnd is computed.
// If mpirun ends without a reported cause, its end is only a preliminary reason: a rank failure that is reported while
// the job ends replaces it.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "tutti/auth/secret.h"
#include "tutti/launch/output/job_output.h"
#include "tutti/launch/placement/rank_environment.h"
#include "tutti/launch/placement/rankfile.h"
#include "tutti/os/signal_fd.h"
#include "tutti/runs/job_folder.h"

namespace tutti::launch {

struct JobSpec {
  std::vector<std::string> command{};    // mpirun command line
  Environment environment{};             // environment of mpirun
  std::vector<std::string> addresses{};  // addresses of this host to which agents connect
  auth::Secret secret;                   // secret of this job
  Rankfile rankfile{};                   // host of each rank
  std::vector<std::string> cpus = {};    // CPUs of each rank, to pin it; empty: unchanged
  double timeout = 0;                    // seconds; 0: no limit
  bool tag_output = false;
};

struct JobEnd {
  int exit_code = 0;
  std::string message = {};     // with code: the root cause; empty: success
  bool may_restart = false;     // a rank or host failed; not if interrupted or timed out
  bool is_interrupted = false;  // by a signal, the timeout, or a closed output
  std::vector<std::string> lost_hosts = {};  // remote hosts with possible leftovers
};

// Signals that end a job.
inline constexpr std::initializer_list<int> kEndSignals = {SIGINT, SIGTERM, SIGHUP};

// Runs the job to its end. Output goes to standard output and standard error and, per rank, to the run directory; some
// of it may still be queued in `output` on return. The first rank that fails, one of `signals` (kEndSignals), the
// timeout or the end of mpirun ends all ranks on every host within 5 s. On return no process of the job is running,
// except on unreachable hosts. All other child processes are killed too: call it from the main thread of a program that
// has none.
JobEnd run_job(const JobSpec& spec, runs::JobFolder& folder, JobOutput& output,
               const os::SignalFd& signals);

// Outcome of a job that was ended by a signal to ddlrun or by the timeout.
JobEnd interrupted_by(int signal);
JobEnd timed_out();
// Outcome of a job whose output was closed by its reader.
JobEnd output_closed();

}  // namespace tutti::launch
