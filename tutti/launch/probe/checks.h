// What must be right before ranks are started: one row per check.
#pragma once

#include <string>
#include <vector>

#include "tutti/launch/placement/rankfile.h"
#include "tutti/launch/probe/host_probe.h"
#include "tutti/launch/probe/matrix.h"

namespace tutti::launch {

// All that is known before the start.
struct Facts {
  std::string version = {};        // ours
  std::string mpi = {};            // "Open MPI 4.1.4"
  std::string folder = {};         // in which ranks start
  std::string program = {};        // the word of the user; empty: none, --check only
  int port = 0;                    // that the user wants; 0: none
  bool shapes_may_differ = false;  // the user has dealt the ranks himself
  std::vector<HostFacts> hosts = {};
  Rankfile rankfile = {};  // empty before it is made
  Matrix matrix = Matrix();
};

struct Finding {
  std::string code;
  std::string sentence;  // what is wrong and what to do
};

struct Check {
  std::string code;
  std::string what;  // as in a report: "same hardware on all hosts"
  bool only_warns;   // the job may start all the same
  std::vector<Finding> (*find)(const Facts& facts);
  bool needs_speeds = false;  // only made when the links were measured
};

// In the order in which they are made and reported.
const std::vector<Check>& checks();

struct CheckResult {
  const Check* check;
  std::vector<Finding> findings;
  bool was_made = true;
};
std::vector<CheckResult> run_checks(const Facts& facts);
// Whether a finding forbids the start.
bool has_errors(const std::vector<CheckResult>& results);
// For people: a line per check with its findings below; without `everything` only those with
// findings.
std::string render(const std::vector<CheckResult>& results, bool everything);
// A table of the free temporary space and shared memory of every host that answered.
std::string render_space(const Facts& facts);

}  // namespace tutti::launch
