// Builds the mpirun command line and the JobSpec from the request and the host facts.
#pragma once

#include <string>
#include <vector>

#include "tutti/launch/cli/launch_request.h"
#include "tutti/launch/job/job.h"
#include "tutti/launch/placement/rank_environment.h"

namespace tutti::launch {

// A view: its arguments must outlive it. `facts` must have a rankfile.
class LaunchCommand {
 public:
  LaunchCommand(const CommandLine& line, const BuildInfo& own, const LaunchRequest& request,
                const Facts& facts)
      : line_(line), own_(own), request_(request), facts_(facts) {}

  // Environment that ddlrun sets for the ranks. Throws ConfigError if -x or -mode is invalid.
  Environment environment(const std::string& run_folder, int restart) const;
  // The mpirun command line. Throws ConfigError if -mpiarg cannot be parsed.
  Args command(const Environment& environment, const std::string& rankfile_path,
               bool is_watched) const;
  // The job, complete except for its timeout; writes the files it needs into the directory.
  JobSpec job(const runs::JobFolder& folder, int restart) const;

 private:
  const HostFacts* facts_of(const std::string& host) const;
  std::string master_address() const;
  int master_port() const;
  bool is_pinned() const;
  std::vector<std::string> cpus_by_rank() const;
  std::vector<std::string> own_addresses() const;
  std::vector<std::string> exported_names() const;

  const CommandLine& line_;
  const BuildInfo& own_;
  const LaunchRequest& request_;
  const Facts& facts_;
};

}  // namespace tutti::launch
