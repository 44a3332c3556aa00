#include "tutti/launch/cli/launch_request.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "tutti/core/error.h"
#include "tutti/launch/mpi/find.h"
#include "tutti/os/environment.h"
#include "tutti/os/shell.h"
#include "tutti/os/text_file.h"

namespace tutti::launch {
namespace {

constexpr double kFloodSeconds = 0.2;         // per link and direction, with --check
constexpr std::size_t kMostForAllPairs = 64;  // hosts; above this only neighbours are tested

const char* variable(const char* name) {
  return std::getenv(name);
}

std::string text_of(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

void find_hosts(const CommandLine& line, LaunchRequest* request) {
  const auto take = [&](std::vector<Host> hosts, std::string source) {
    request->hosts = std::move(hosts);
    request->source = std::move(source);
  };
  const auto allocation = find_allocation(variable);
  if (allocation && allocation->scheduler == "Slurm" &&
      !os::find_program("srun", request->path).empty()) {
    request->shell = RemoteShell::kSrun;
  }
  if (!line.options.is_default("host"))
    return take(parse_host_list(line.options.text("host")), "-H");
  if (!line.options.is_default("hostfile")) {
    return take(read_hostfile(line.options.text("hostfile")), line.options.text("hostfile"));
  }
  if (request->rankfile) {
    std::vector<Host> hosts;
    for (const std::string& name : request->rankfile->hosts) hosts.push_back({name});
    return take(std::move(hosts), "the rankfile");
  }
  if (allocation) {
    request->slots_are_limits = true;
    return take(allocation->hosts, allocation->scheduler);
  }
  take({{os::host_name()}}, "this machine");
}

// The user's rankfile may omit hosts but not name others.
void check_rankfile_hosts(const LaunchRequest& request) {
  if (!request.rankfile) return;
  std::set<std::string_view> named;
  for (const Host& host : request.hosts) named.insert(host.name);
  for (const std::string& name : request.rankfile->hosts) {
    if (named.contains(name)) continue;
    throw ConfigError(
        "DDL-3-11",
        fmt::format("The rankfile puts ranks on {}, which is missing in {}. Correct one of them.",
                    name, request.source));
  }
  const int wanted = request.shape.ranks;
  if (wanted > 0 && wanted != request.rankfile->size()) {
    throw ConfigError(
        "DDL-3-11",
        fmt::format("The rankfile has {} ranks, but -n is {}. Omit -n, or correct the rankfile.",
                    request.rankfile->size(), wanted));
  }
}

topo::Machine read_machine(std::string path, const std::string& host) {
  for (std::size_t at; (at = path.find("%h")) != path.npos;) path.replace(at, 2, host);
  const std::string text = os::read_text(path);
  if (text.empty()) {
    throw ConfigError("DDL-3-19", fmt::format("The topology file {} cannot be read. See "
                                              "docs/formats/topology.md for its form.",
                                              path));
  }
  topo::Machine machine = topo::parse_machine(text, path);
  machine.name = host;
  return machine;
}

Question make_question(const LaunchRequest& request) {
  Question question{.path = request.path, .folder = request.folder};
  if (!request.program.arguments.empty()) question.program = request.program.arguments[0];
  question.files = request.program.files;
  if (request.mpi && request.mpi->launcher->crosses_hosts)
    question.mpi_program = request.mpi->program;
  for (const Host& host : request.hosts) question.peers.push_back(host.name);
  question.port = std::atoi(text_of("MASTER_PORT").c_str());
  return question;
}

// Options of Spectrum MPI for InfiniBand, GPUs and affinity. Scripts written for it contain them; any other mpirun
// fails with its usage text.
void check_mpi_arguments(const Mpi& mpi, const std::vector<std::string>& arguments) {
  if (mpi.launcher->name == "spectrum") return;
  for (const std::string& text : arguments) {
    for (const std::string& word : os::split_words(text)) {
      const bool is_spectrum = word.starts_with("-pami") || word == "-PAMI" || word == "-TCP" ||
                               word == "-gpu" || word == "-disable_gdr" || word == "-aff";
      if (!is_spectrum) continue;
      throw ConfigError("DDL-3-70",
                        fmt::format("--mpiarg {}: this is an option of Spectrum MPI, and the ranks "
                                    "are started by {}. Omit it. For TCP instead of "
                                    "InfiniBand use --tcp.",
                                    word, mpi.title()));
    }
  }
}

// Names the host that cannot be passed to this MPI.
void check_mpi_takes(const LaunchRequest& request, const std::vector<std::string>& arguments) {
  const Mpi& mpi = *request.mpi;
  check_mpi_arguments(mpi, arguments);
  if (!mpi.launcher->crosses_hosts) return;
  for (const Host& host : request.hosts) {
    if (host.name.find(':') == host.name.npos) continue;
    throw ConfigError("DDL-3-70",
                      fmt::format("{}: {} takes host names only, not IPv6 addresses. Add a name "
                                  "for it to /etc/hosts and use that.",
                                  host.name, mpi.title()));
  }
  const bool logs_in_by_ssh = request.shell == RemoteShell::kSsh;
  if (common_user(request.hosts).empty() || (logs_in_by_ssh && mpi.launcher->name != "mpich"))
    return;
  throw ConfigError("DDL-3-70",
                    fmt::format("{}@{}: {} cannot log in as another user. Put the user into "
                                "~/.ssh/config, or omit it.",
                                request.hosts[0].user, request.hosts[0].name, mpi.title()));
}

bool needs_no_checks(const CommandLine& line) {
  return line.options.flag("dry_run") || line.options.flag("skipchecks");
}

void probe_hosts(const CommandLine& line, const LaunchRequest& request, const BuildInfo& own,
                 bool probes_all, Facts* facts) {
  const Question question = make_question(request);
  std::vector<std::string> names = question.peers;
  if (needs_no_checks(line) && !probes_all) names.resize(1);
  if (names.size() == 1 && is_this_host(names[0])) {
    facts->hosts.push_back(
        {.name = names[0], .is_here = true, .report = make_report(question, own.version)});
    return;
  }
  HostProbe all(names, request.shell, own.program, common_user(request.hosts));
  facts->hosts = all.ask_reports(question);
  const bool all_answer = std::ranges::all_of(
      facts->hosts, [](const HostFacts& host) { return host.report.has_value(); });
  const bool only_checks = line.options.flag("check");
  if (names.size() < 2 || (!all_answer && !only_checks)) return;
  facts->matrix = all.measure(facts->hosts, only_checks ? kFloodSeconds : 0,
                              !only_checks && names.size() > kMostForAllPairs);
}

}  // namespace

LaunchRequest parse_request(const CommandLine& line, const BuildInfo& own) {
  LaunchRequest request{.mode = line.options.text("mode"),
                        .path = text_of("PATH"),
                        .folder = std::filesystem::current_path().string()};
  const Options& options = line.options;
  request.shape = {.ranks = line.number("ranks"),
                   .accelerators = line.number("accelerators"),
                   .aisles = line.number("aisles"),
                   .racks = line.number("racks"),
                   .nodes = line.number("nodes"),
                   .sockets = line.number("sockets"),
                   .cores = line.number("cores"),
                   .oversubscribe = options.flag("oversubscribe")};
  if (!line.program.empty() || !options.flag("check")) {
    request.program = complete_program(line.program, request.path);
  }
  if (!options.is_default("rankfile")) request.rankfile = read_rankfile(options.text("rankfile"));
  find_hosts(line, &request);
  check_rankfile_hosts(request);
  try {
    request.mpi = find_mpi({.wanted = options.text("mpi"),
                            .built_with = own.built_with,
                            .path = request.path,
                            .in_slurm = request.shell == RemoteShell::kSrun,
                            .own_program = own.program});
  } catch (const ConfigError&) {
    if (!options.flag("check")) throw;
  }
  if (request.mpi) check_mpi_takes(request, line.list("mpiarg"));
  if (request.mpi && !request.mpi->launcher->crosses_hosts &&
      (request.hosts.size() > 1 || !is_this_host(request.hosts[0].name))) {
    throw ConfigError(
        "DDL-3-14", "--mpi none starts ranks on this host only. Omit it, or omit the other hosts.");
  }
  return request;
}

Facts find_facts(const CommandLine& line, const LaunchRequest& request, const BuildInfo& own,
                 bool probes_all) {
  Facts facts{
      .version = own.version,
      .mpi = request.mpi && request.mpi->launcher->crosses_hosts ? request.mpi->title() : "",
      .folder = request.folder,
      .program = request.program.arguments.empty() ? "" : request.program.arguments[0],
      .port = std::atoi(text_of("MASTER_PORT").c_str()),
      .shapes_may_differ = request.rankfile.has_value()};
  const std::string& topology = line.options.text("topology");
  const bool needs_no_probe = !topology.empty() && needs_no_checks(line) && !probes_all;
  if (needs_no_probe) {
    for (const Host& host : request.hosts)
      facts.hosts.push_back({.name = host.name, .report = Report{}});
  } else {
    probe_hosts(line, request, own, probes_all, &facts);
  }
  for (HostFacts& host : facts.hosts) {
    if (topology.empty() || !host.report) continue;
    if (!needs_no_probe) host.real_machine = std::move(host.report->machine);
    host.report->machine = read_machine(topology, host.name);
  }
  return facts;
}

const topo::Machine& common_machine(const Facts& facts) {
  for (const HostFacts& host : facts.hosts) {
    if (host.report) return host.report->machine;
  }
  throw ConfigError("DDL-3-21",
                    "No host has answered, so the topology is unknown. Pass it with --topology, or "
                    "see ddlrun --check.");
}

namespace {

// Checks the ranks of each host against `machine_of` that host; null: unknown.
template <class MachineOf>
void check_fit(const Rankfile& rankfile, const Facts& facts, MachineOf machine_of) {
  std::map<std::string_view, const topo::Machine*> machines;
  for (const HostFacts& host : facts.hosts) machines.emplace(host.name, machine_of(host));
  const std::vector<std::vector<int>> ranks = rankfile.ranks_by_host();
  for (std::size_t h = 0; h < ranks.size(); ++h) {
    const auto found = machines.find(rankfile.hosts[h]);
    if (found != machines.end() && found->second) {
      launch::check_fit(rankfile, ranks[h], *found->second);
    }
  }
}

Rankfile place_ranks(const LaunchRequest& request, const Facts& facts) {
  std::vector<Host> hosts = request.hosts;
  const topo::Machine& machine = common_machine(facts);
  // Schedulers count cores; with one rank per accelerator only some of them are used.
  if (request.slots_are_limits && !machine.accelerators.empty()) {
    for (Host& host : hosts) {
      host.slots = std::min(host.slots, static_cast<int>(machine.accelerators.size()));
    }
  }
  Rankfile rankfile = place(hosts, machine, request.shape);
  check_fit(rankfile, facts, [&](const HostFacts& host) -> const topo::Machine* {
    return host.real_machine && !request.shape.oversubscribe ? &*host.real_machine : nullptr;
  });
  return rankfile;
}

}  // namespace

Rankfile make_rankfile(const LaunchRequest& request, const Facts& facts) {
  if (!request.rankfile) return place_ranks(request, facts);
  Rankfile rankfile = *request.rankfile;
  check_fit(rankfile, facts, [](const HostFacts& host) -> const topo::Machine* {
    return host.report && !host.report->machine.sockets.empty() ? &host.report->machine : nullptr;
  });
  const int hosts = static_cast<int>(rankfile.hosts.size());
  rankfile.aisles = std::max({rankfile.aisles, request.shape.aisles, 1});
  rankfile.racks = std::max({rankfile.racks, request.shape.racks, 1});
  if (rankfile.nodes == 0) rankfile.nodes = hosts / (rankfile.aisles * rankfile.racks);
  if (rankfile.accelerators == 0) rankfile.accelerators = rankfile.size() / hosts;
  return rankfile;
}

}  // namespace tutti::launch
