#include "tutti/launch/cli/launch_command.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tutti/launch/net/network.h"
#include "tutti/os/shell.h"
#include "tutti/topo/number_list.h"

namespace tutti::launch {
namespace {

constexpr int kUsualPort = 29500;  // torch's default, if no host was asked for a free port

void append(Args* arguments, const Args& more) {
  arguments->insert(arguments->end(), more.begin(), more.end());
}

}  // namespace

Environment LaunchCommand::environment(const std::string& run_folder, int restart) const {
  const std::filesystem::path program = own_.program;
  EnvironmentRequest request{.mode = complete_mode(request_.mode, facts_.rankfile),
                             .sets_ddl_options = !line_.options.flag("no_ddloptions"),
                             .exports = line_.list("x"),
                             .master_address = master_address(),
                             .master_port = master_port(),
                             .restart = restart,
                             .run_folder = run_folder,
                             .python_folder = find_python_folder(program.parent_path().string())};
  if (line_.options.flag("tcp")) request.ddl_arguments.push_back("-wire tcp");
  append(&request.ddl_arguments, line_.list("ddlarg"));
  return rank_environment(own_environment(), facts_.rankfile, request);
}

Args LaunchCommand::command(const Environment& environment, const std::string& rankfile_path,
                            bool is_watched) const {
  const Rankfile& rankfile = facts_.rankfile;
  const Route route = common_route(facts_.hosts);
  Start start{.ranks = rankfile.size(),
              .is_even = rankfile.is_even(),
              .is_here = rankfile.hosts.size() == 1 && is_this_host(rankfile.hosts[0]),
              .user = common_user(request_.hosts),
              .rankfile = rankfile_path,
              .is_pinned = is_pinned(),
              .is_root = ::geteuid() == 0,
              .has_accelerators = !common_machine(facts_).accelerators.empty(),
              .tcp = line_.options.flag("tcp"),
              .network = route.network,
              .interface = route.interface,
              .program = {own_.program, "--agent"}};
  const std::vector<int> counts = rankfile.ranks_per_host();
  for (std::size_t h = 0; h < counts.size(); ++h) {
    start.hosts.push_back({rankfile.hosts[h], counts[h]});
  }
  for (const RankSlot& slot : rankfile.ranks) start.order.push_back(slot.host);
  for (const auto& [name, value] : environment) start.exports.push_back(name);
  // Exported by name only: command lines are visible to all users.
  if (is_watched) append(&start.exports, {"TUTTI_WATCH", auth::Secret::kVariable});
  for (const std::string& text : line_.list("mpiarg")) {
    append(&start.mpi_arguments, os::split_words(text));
  }
  append(&start.program, request_.program.arguments);
  return request_.mpi->launcher->command(*request_.mpi, start);
}

JobSpec LaunchCommand::job(const runs::JobFolder& folder, int restart) const {
  const std::string path = folder.path().string();
  JobSpec spec{.environment = environment(path, restart),
               .addresses = own_addresses(),
               .secret = auth::Secret::generate(),
               .rankfile = facts_.rankfile,
               .tag_output = line_.options.flag("tag_output")};
  spec.command = command(spec.environment, path + "/RANKFILE", true);
  if (!request_.mpi->launcher->pins_ranks && is_pinned()) spec.cpus = cpus_by_rank();
  if (request_.mpi->launcher->name == "srun" && !facts_.rankfile.is_even()) {
    std::string hosts;
    for (const RankSlot& slot : facts_.rankfile.ranks) hosts += slot.host + "\n";
    folder.write("hosts-by-rank", hosts);
    spec.environment["SLURM_HOSTFILE"] = path + "/hosts-by-rank";
  }
  folder.write("RANKFILE", to_text(facts_.rankfile));
  folder.write("topology", topo::to_text(common_machine(facts_)));
  folder.write("command", runs::script_of(request_.folder, spec.environment, exported_names(),
                                          command(spec.environment, path + "/RANKFILE", false)));
  return spec;
}

const HostFacts* LaunchCommand::facts_of(const std::string& host) const {
  const auto found = std::ranges::find(facts_.hosts, host, &HostFacts::name);
  return found == facts_.hosts.end() || !found->report ? nullptr : &*found;
}

// Address at which the other hosts reach rank 0.
std::string LaunchCommand::master_address() const {
  const std::string& first = facts_.rankfile.ranks[0].host;
  for (const HostFacts& host : facts_.hosts) {
    if (!host.report || host.name == first) continue;
    const auto route = host.report->routes.find(first);
    const bool is_known = route != host.report->routes.end() && !route->second.address.empty();
    if (is_known) return route->second.address;
  }
  return facts_.rankfile.hosts.size() == 1 && is_this_host(first) ? "127.0.0.1" : first;
}

int LaunchCommand::master_port() const {
  const HostFacts* const first = facts_of(facts_.rankfile.ranks[0].host);
  return first && first->report->free_port > 0 ? first->report->free_port : kUsualPort;
}

bool LaunchCommand::is_pinned() const {
  return !request_.shape.oversubscribe || request_.rankfile;
}

std::vector<std::string> LaunchCommand::cpus_by_rank() const {
  std::vector<std::string> cpus;
  for (const RankSlot& slot : facts_.rankfile.ranks) {
    const HostFacts* const host = facts_of(slot.host);
    const bool is_known = host && !host->report->machine.sockets.empty();
    cpus.push_back(topo::format_list(
        cpus_of(slot, is_known ? host->report->machine : common_machine(facts_))));
  }
  return cpus;
}

// Only the addresses through which this host reaches the hosts of the job; the loopback address for a job on this host.
// All addresses if that is unknown: ssh may have aliases for names.
std::vector<std::string> LaunchCommand::own_addresses() const {
  std::vector<std::string> addresses;
  const auto add = [&](const std::string& address) {
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  };
  bool is_local = true, has_all = true;
  for (const std::string& host : facts_.rankfile.hosts) {
    if (is_this_host(host)) continue;
    is_local = false;
    const auto address = resolve(host);
    const auto route = address ? route_to(*address) : std::nullopt;
    if (route) add(route->address.text());
    has_all = has_all && route;
  }
  if (is_local) return {"127.0.0.1"};
  if (has_all) return addresses;
  for (const topo::Interface& interface : topo::own_interfaces()) add(interface.address.text());
  return addresses;
}

// Names only: values passed with -x may be secrets.
std::vector<std::string> LaunchCommand::exported_names() const {
  std::vector<std::string> names;
  for (const std::string& text : line_.list("x")) names.push_back(text.substr(0, text.find('=')));
  return names;
}

}  // namespace tutti::launch
