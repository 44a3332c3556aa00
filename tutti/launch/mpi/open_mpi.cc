// Open MPI 4 and 5, and Spectrum MPI, which is derived from it.
#include <fmt/format.h>

#include <algorithm>

#include "tutti/launch/mpi/launcher.h"

namespace tutti::launch {
namespace {

bool is_new(const Mpi& mpi) {
  return mpi.launcher->name == "openmpi" && mpi.major() >= 5;
}

void add(Args* arguments, std::initializer_list<std::string> more) {
  arguments->insert(arguments->end(), more);
}

Args begin(const Mpi& mpi, const Start& start) {
  Args arguments = {mpi.program};
  if (start.is_root) add(&arguments, {"--allow-run-as-root"});
  // The agents give programs time to end; mpirun need not wait as well.
  if (!is_new(mpi)) add(&arguments, {"--mca", "odls_base_sigkill_timeout", "0"});
  for (const std::string& name : start.exports) add(&arguments, {"-x", name});
  return arguments;
}

// Without a selection Open MPI uses all networks that are up, including those that do not connect the hosts.
void add_network(Args* arguments, const Mpi& mpi, const Start& start) {
  if (start.hosts.size() < 2) return;
  if (start.tcp) {
    const std::string shared_memory = is_new(mpi) ? "sm" : "vader";
    add(arguments, {"--mca", "pml", "ob1", "--mca", "btl", "self," + shared_memory + ",tcp"});
  }
  // Open MPI identifies IPv6 networks only by their interface.
  const bool is_wide = start.network.find(':') != std::string::npos;
  const std::string& network = is_wide ? start.interface : start.network;
  if (network.empty()) return;
  add(arguments, {"--mca", "btl_tcp_if_include", network});
  if (is_new(mpi)) {
    add(arguments, {"--prtemca", "prte_if_include", network});
  } else {
    add(arguments, {"--mca", "oob_tcp_if_include", network});
  }
}

// Connects to all hosts concurrently, without password prompts.
void add_remote_shell(Args* arguments, const Mpi& mpi, const Start& start) {
  if (start.is_here) return;
  const std::string concurrent = fmt::format("{}", std::max<std::size_t>(start.hosts.size(), 128));
  const std::string ssh_arguments =
      "-o BatchMode=yes -o ConnectTimeout=10" + (start.user.empty() ? "" : " -l " + start.user);
  if (is_new(mpi)) {
    add(arguments, {"--prtemca", "plm_ssh_num_concurrent", concurrent, "--prtemca", "plm_ssh_args",
                    ssh_arguments});
  } else {
    add(arguments,
        {"--mca", "plm_rsh_num_concurrent", concurrent, "--mca", "plm_rsh_args", ssh_arguments});
  }
}

}  // namespace

Args open_mpi_command(const Mpi& mpi, const Start& start) {
  Args arguments = begin(mpi, start);
  add(&arguments, {"--host", hosts_with_slots(start)});
  if (start.is_pinned && is_new(mpi)) {
    add(&arguments, {"--map-by", "rankfile:file=" + start.rankfile});
  } else if (start.is_pinned) {
    add(&arguments, {"--rankfile", start.rankfile});
  } else if (is_new(mpi)) {
    add(&arguments, {"--map-by", "node:OVERSUBSCRIBE", "--rank-by", "node", "--bind-to", "none"});
  } else {
    add(&arguments, {"--oversubscribe", "--map-by", "node", "--bind-to", "none"});
  }
  add(&arguments, {"-n", fmt::format("{}", start.ranks)});
  add_network(&arguments, mpi, start);
  add_remote_shell(&arguments, mpi, start);
  return with_program(std::move(arguments), start);
}

Args spectrum_command(const Mpi& mpi, const Start& start) {
  Args arguments = begin(mpi, start);
  if (start.has_accelerators) add(&arguments, {"-gpu"});
  if (start.tcp && start.hosts.size() > 1) add(&arguments, {"-TCP"});
  add(&arguments, {"--host", hosts_with_slots(start)});
  if (start.is_pinned) {
    add(&arguments, {"-aff", "off", "--rankfile", start.rankfile});
  } else {
    add(&arguments, {"--oversubscribe", "--map-by", "node", "--bind-to", "none"});
  }
  add(&arguments, {"-n", fmt::format("{}", start.ranks)});
  add_remote_shell(&arguments, mpi, start);
  return with_program(std::move(arguments), start);
}

}  // namespace tutti::launch
