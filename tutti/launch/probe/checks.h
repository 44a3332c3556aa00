// Checks before ranks are started: one row per check.
#pragma once

#include <string>
#include <vector>

#include "tutti/launch/placement/rankfile.h"
#include "tutti/launch/probe/host_probe.h"
#include "tutti/launch/probe/matrix.h"

namespace tutti::launch {

// All information that is available before the start.
struct Facts {
  std::string version = {};        // of this ddlrun
  std::string mpi = {};            // "Open MPI 4.1.4"
  std::string folder = {};         // working directory of the ranks
  std::string program = {};        // as typed by the user; empty: none, --check only
  int port = 0;                    // requested by the user; 0: none
  bool shapes_may_differ = false;  // the user provided a rankfile
  std::vector<HostFacts> hosts = {};
  Rankfile rankfile = {};  // empty until it is created
  Matrix matrix = Matrix();
};

struct Finding {
  std::string code;
  std::string message;  // the problem and its remedy
};

struct Check {
  std::string code;
  std::string what;  // as in a report: "same hardware on all hosts"
  bool only_warns;   // does not prevent the start
  std::vector<Finding> (*find)(const Facts& facts);
  bool needs_speeds = false;  // run only if the links were measured
};

// In the order in which they are run and reported.
const std::vector<Check>& checks();

struct CheckResult {
  const Check* check;
  std::vector<Finding> findings;
  bool was_run = true;
};
std::vector<CheckResult> run_checks(const Facts& facts);
// True if a finding prevents the start.
bool has_errors(const std::vector<CheckResult>& results);
// Human-readable: one line per check with its findings below; without `everything` only checks with findings.
std::string render(const std::vector<CheckResult>& results, bool everything);
// Table of the free temporary space and shared memory of every host that replied.
std::string render_space(const Facts& facts);

}  // namespace tutti::launch
