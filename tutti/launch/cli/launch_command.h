// The command line of mpirun and the job that it starts, from the request and the facts.
#pragma once

#include <string>
#include <vector>

#include "tutti/launch/cli/launch_request.h"
#include "tutti/launch/job/job.h"
#include "tutti/launch/placement/rank_environment.h"

namespace tutti::launch {

// A view: what it is made from must outlive it. `facts` must have a rankfile.
class LaunchCommand {
 public:
  LaunchCommand(const CommandLine& line, const BuildInfo& own, const LaunchRequest& request,
                const Facts& facts)
      : line_(line), own_(own), request_(request), facts_(facts) {}

  // What ranks get from us. Throws ConfigError when -x or -mode ask for what cannot be.
  Environment environment(const std::string& run_folder, int restart) const;
  // The mpirun line. Throws ConfigError when -mpiarg cannot be read.
  Args command(const Environment& environment, const std::string& rankfile_path,
               bool is_watched) const;
  // The job, complete but for its time-out; writes what it needs into the folder.
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
