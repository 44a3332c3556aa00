// Slurm's launcher, only inside an allocation.
#include <fmt/format.h>

#include "tutti/launch/mpi/launcher.h"

namespace tutti::launch {

Args srun_command(const Mpi& mpi, const Start& start) {
  std::vector<std::string> names;
  for (const Host& host : start.hosts) names.push_back(host.name);
  Args arguments = {mpi.program, fmt::format("--ntasks={}", start.ranks),
                    fmt::format("--nodes={}", start.hosts.size()),
                    fmt::format("--nodelist={}", fmt::join(names, ","))};
  if (start.is_even) {
    arguments.push_back(fmt::format("--ntasks-per-node={}", start.hosts.front().slots));
    arguments.push_back("--distribution=cyclic");
  } else {
    arguments.push_back("--distribution=arbitrary");  // in the order of SLURM_HOSTFILE
  }
  if (!start.is_pinned) arguments.push_back("--overcommit");
  if (!mpi.plugin.empty()) arguments.push_back("--mpi=" + mpi.plugin);
  arguments.insert(arguments.end(),
                   {"--cpu-bind=none", "--kill-on-bad-exit=1", "--input=0", "--export=ALL"});
  return with_program(std::move(arguments), start);
}

}  // namespace tutti::launch
