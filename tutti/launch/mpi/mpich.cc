// MPICH and derived implementations with the Hydra launcher. Hydra has no rankfile: hosts are assigned here, and the
// ranks pin themselves to cores.
#include <fmt/format.h>

#include "tutti/launch/mpi/launcher.h"

namespace tutti::launch {

Args mpich_command(const Mpi& mpi, const Start& start) {
  Args arguments = {mpi.program};
  if (!start.exports.empty()) {
    arguments.insert(arguments.end(),
                     {"-genvlist", fmt::format("{}", fmt::join(start.exports, ","))});
  }
  if (start.hosts.size() > 1 && !start.interface.empty()) {
    arguments.insert(arguments.end(), {"-iface", start.interface});
  }
  arguments.insert(arguments.end(), {"-bind-to", "none"});
  // One rank per host in cyclic order; uneven hosts are listed once for each of their ranks.
  std::vector<std::string> names = start.order;
  if (start.is_even) {
    names.clear();
    for (const Host& host : start.hosts) names.push_back(host.name);
  }
  arguments.insert(arguments.end(), {"-hosts", fmt::format("{}", fmt::join(names, ",")), "-ppn",
                                     "1", "-n", fmt::format("{}", start.ranks)});
  return with_program(std::move(arguments), start);
}

}  // namespace tutti::launch
