// A running job: mpirun, the agents of the ranks, and their supervision.
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
  std::vector<std::string> command{};    // mpirun and its arguments
  Environment environment{};             // in which it is started
  std::vector<std::string> addresses{};  // of this host, to which agents connect
  auth::Secret secret;                   // of this job
  Rankfile rankfile{};                   // the host of each rank
  std::vector<std::string> cpus = {};    // for each rank, to pin it; empty: unchanged
  double timeout = 0;                    // seconds; 0: none
  bool tag_output = false;
};

struct JobEnd {
  int exit_code = 0;
  std::string message = {};     // coded, what went wrong first; empty: nothing
  bool may_restart = false;     // a rank or host failed; not: interrupted, out of time, succeeded
  bool is_interrupted = false;  // by a signal, the timeout, or the reader of the output
  std::vector<std::string> lost_hosts = {};  // other hosts, on which processes may be left
};

// The signals that end a job.
inline constexpr std::initializer_list<int> kEndSignals = {SIGINT, SIGTERM, SIGHUP};

// Runs the job to its end. Output goes to ours and, rank by rank, to the run folder; when this
// returns, some of it may still be queued in `output`. The first rank that fails, one of `signals`
// (kEndSignals), the timeout or the end of mpirun ends all ranks, on every host, within 5 s.
// Whatever happens, nothing of the job runs when this returns, except on hosts that cannot be
// reached. All other children of the process are killed too: call it from the main thread of a
// program that has none.
JobEnd run_job(const JobSpec& spec, runs::JobFolder& folder, JobOutput& output,
               const os::SignalFd& signals);

// The outcome of a job that a signal to ddlrun or the timeout ended.
JobEnd interrupted_by(int signal);
JobEnd timed_out();
// The reader of the output has closed it.
JobEnd output_closed();

}  // namespace tutti::launch
