// From what is wished and what was found to what is started.
#pragma once

#include <string>
#include <vector>

#include "tutti/launch/environment.h"
#include "tutti/launch/job.h"
#include "tutti/launch/preparation.h"

namespace tutti::launch {

// A view: what it is made from must outlive it. `facts` must have a rankfile.
class Assembly {
 public:
  Assembly(const CommandLine& line, const Own& own, const Wishes& wishes, const Facts& facts)
      : line_(line), own_(own), wishes_(wishes), facts_(facts) {}

  // What ranks get from us. Throws ConfigError when -x or -mode ask for what cannot be.
  Environment environment(const std::string& run_folder, int restart) const;
  // The mpirun line. Throws ConfigError when -mpiarg cannot be read.
  Words command(const Environment& environment, const std::string& rankfile_path,
                bool is_watched) const;
  // The job, complete but for its time-out; writes what it needs into the folder.
  JobSpec job(const RunFolder& folder, int restart) const;

 private:
  const HostFacts* facts_of(const std::string& host) const;
  std::string master_address() const;
  int master_port() const;
  bool is_pinned() const;
  std::vector<std::string> cpus_by_rank() const;
  std::vector<std::string> own_addresses() const;
  std::vector<std::string> exported_names() const;

  const CommandLine& line_;
  const Own& own_;
  const Wishes& wishes_;
  const Facts& facts_;
};

}  // namespace tutti::launch
