// MPICH and its relatives that start ranks by hydra. It has no rankfile: hosts are dealt here,
// cores by the ranks themselves.
#include <fmt/format.h>

#include "tutti/launch/mpi/launcher.h"

namespace tutti::launch {

Args mpich_command(const Mpi& mpi, const Start& start) {
  Args words = {mpi.program};
  if (!start.exports.empty()) {
    words.insert(words.end(), {"-genvlist", fmt::format("{}", fmt::join(start.exports, ","))});
  }
  if (start.hosts.size() > 1 && !start.interface.empty()) {
    words.insert(words.end(), {"-iface", start.interface});
  }
  words.insert(words.end(), {"-bind-to", "none"});
  // One rank per host, round after round; uneven hosts are named once for each of their ranks.
  std::vector<std::string> names = start.order;
  if (start.is_even) {
    names.clear();
    for (const Host& host : start.hosts) names.push_back(host.name);
  }
  words.insert(words.end(), {"-hosts", fmt::format("{}", fmt::join(names, ",")), "-ppn", "1", "-n",
                             fmt::format("{}", start.ranks)});
  return with_program(std::move(words), start);
}

}  // namespace tutti::launch
