#include "tutti/launch/preparation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tutti/core/error.h"
#include "tutti/core/text_file.h"
#include "tutti/launch/mpi/find.h"
#include "tutti/launch/shell.h"

namespace tutti::launch {
namespace {

constexpr double kFloodSeconds = 0.2;         // per link and direction, with --check
constexpr std::size_t kMostForAllPairs = 64;  // hosts; above, only neighbours try to connect

const char* variable(const char* name) {
  return std::getenv(name);
}

std::string text_of(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

void find_hosts(const CommandLine& line, Wishes* wishes) {
  const auto take = [&](std::vector<Host> hosts, std::string source) {
    wishes->hosts = std::move(hosts);
    wishes->source = std::move(source);
  };
  const auto allocation = find_allocation(variable);
  if (allocation && allocation->scheduler == "Slurm" &&
      !find_program("srun", wishes->path).empty()) {
    wishes->shell = RemoteShell::kSrun;
  }
  if (!line.options.is_default("host"))
    return take(parse_host_list(line.options.text("host")), "-H");
  if (!line.options.is_default("hostfile")) {
    return take(read_hostfile(line.options.text("hostfile")), line.options.text("hostfile"));
  }
  if (wishes->rankfile) {
    std::vector<Host> hosts;
    for (const std::string& name : wishes->rankfile->hosts) hosts.push_back({name});
    return take(std::move(hosts), "the rankfile");
  }
  if (allocation) {
    wishes->slots_are_limits = true;
    return take(allocation->hosts, allocation->scheduler);
  }
  take({{host_name()}}, "this machine");
}

// The user's rankfile may leave hosts out, but not name others.
void check_rankfile_hosts(const Wishes& wishes) {
  if (!wishes.rankfile) return;
  for (const std::string& name : wishes.rankfile->hosts) {
    const bool is_named =
        std::ranges::any_of(wishes.hosts, [&](const Host& host) { return host.name == name; });
    if (is_named) continue;
    throw ConfigError("DDL-3-11", fmt::format("The rankfile puts ranks on {}, which {} does not "
                                              "name. Correct one of them.",
                                              name, wishes.source));
  }
  const int wanted = wishes.shape.ranks;
  if (wanted > 0 && wanted != wishes.rankfile->size()) {
    throw ConfigError("DDL-3-11", fmt::format("The rankfile has {} ranks, but -n says {}. Leave -n "
                                              "out, or correct the rankfile.",
                                              wishes.rankfile->size(), wanted));
  }
}

topo::Machine read_machine(std::string path, const std::string& host) {
  for (std::size_t at; (at = path.find("%h")) != path.npos;) path.replace(at, 2, host);
  const std::string text = read_text(path);
  if (text.empty()) {
    throw ConfigError("DDL-3-19", fmt::format("The topology file {} cannot be read. See "
                                              "docs/formats/topology.md for its form.",
                                              path));
  }
  topo::Machine machine = topo::parse_machine(text, path);
  machine.name = host;
  return machine;
}

Question make_question(const Wishes& wishes) {
  Question question{.path = wishes.path, .folder = wishes.folder};
  if (!wishes.program.words.empty()) question.program = wishes.program.words[0];
  question.files = wishes.program.files;
  if (wishes.mpi && wishes.mpi->flavour->crosses_hosts) question.mpi_program = wishes.mpi->program;
  for (const Host& host : wishes.hosts) question.peers.push_back(host.name);
  question.port = std::atoi(text_of("MASTER_PORT").c_str());
  return question;
}

bool needs_no_checks(const CommandLine& line) {
  return line.options.flag("dry_run") || line.options.flag("skipchecks");
}

void survey(const CommandLine& line, const Wishes& wishes, const Own& own, bool everybody,
            Facts* facts) {
  const Question question = make_question(wishes);
  std::vector<std::string> names = question.peers;
  if (needs_no_checks(line) && !everybody) names.resize(1);
  if (names.size() == 1 && is_this_host(names[0])) {
    facts->hosts.push_back(
        {.name = names[0], .is_here = true, .report = make_report(question, own.version)});
    return;
  }
  Survey all(names, wishes.shell, own.program);
  facts->hosts = all.ask_reports(question);
  const bool all_answer = std::ranges::all_of(
      facts->hosts, [](const HostFacts& host) { return host.report.has_value(); });
  const bool only_checks = line.options.flag("check");
  if (names.size() < 2 || (!all_answer && !only_checks)) return;
  facts->matrix = all.measure(facts->hosts, only_checks ? kFloodSeconds : 0,
                              !only_checks && names.size() > kMostForAllPairs);
}

}  // namespace

Wishes read_wishes(const CommandLine& line, const Own& own) {
  Wishes wishes{.mode = line.options.text("mode"),
                .path = text_of("PATH"),
                .folder = std::filesystem::current_path().string()};
  const Options& options = line.options;
  wishes.shape = {.ranks = line.number("ranks"),
                  .accelerators = line.number("accelerators"),
                  .aisles = line.number("aisles"),
                  .racks = line.number("racks"),
                  .nodes = line.number("nodes"),
                  .sockets = line.number("sockets"),
                  .cores = line.number("cores"),
                  .oversubscribe = options.flag("oversubscribe")};
  if (!line.program.empty() || !options.flag("check")) {
    wishes.program = complete_program(line.program, wishes.path);
  }
  if (!options.is_default("rankfile")) wishes.rankfile = read_rankfile(options.text("rankfile"));
  find_hosts(line, &wishes);
  check_rankfile_hosts(wishes);
  try {
    wishes.mpi = find_mpi({.wanted = options.text("mpi"),
                           .built_with = own.built_with,
                           .path = wishes.path,
                           .in_slurm = wishes.shell == RemoteShell::kSrun,
                           .own_program = own.program});
  } catch (const ConfigError&) {
    if (!options.flag("check")) throw;
  }
  if (wishes.mpi && !wishes.mpi->flavour->crosses_hosts &&
      (wishes.hosts.size() > 1 || !is_this_host(wishes.hosts[0].name))) {
    throw ConfigError("DDL-3-14",
                      "--mpi none starts ranks on this machine only. Leave it out, or "
                      "leave the other hosts out.");
  }
  return wishes;
}

Facts find_facts(const CommandLine& line, const Wishes& wishes, const Own& own, bool everybody) {
  Facts facts{.version = own.version,
              .mpi = wishes.mpi && wishes.mpi->flavour->crosses_hosts ? wishes.mpi->title() : "",
              .folder = wishes.folder,
              .program = wishes.program.words.empty() ? "" : wishes.program.words[0],
              .port = std::atoi(text_of("MASTER_PORT").c_str()),
              .shapes_may_differ = wishes.rankfile.has_value()};
  const std::string& topology = line.options.text("topology");
  const bool asks_nobody = !topology.empty() && needs_no_checks(line) && !everybody;
  if (asks_nobody) {
    for (const Host& host : wishes.hosts)
      facts.hosts.push_back({.name = host.name, .report = Report{}});
  } else {
    survey(line, wishes, own, everybody, &facts);
  }
  for (HostFacts& host : facts.hosts) {
    if (topology.empty() || !host.report) continue;
    if (!asks_nobody) host.real_machine = std::move(host.report->machine);
    host.report->machine = read_machine(topology, host.name);
  }
  return facts;
}

const topo::Machine& common_machine(const Facts& facts) {
  for (const HostFacts& host : facts.hosts) {
    if (host.report) return host.report->machine;
  }
  throw ConfigError("DDL-3-21",
                    "No host has answered, so its shape is not known. Give it with "
                    "--topology, or see ddlrun --check.");
}

namespace {

Rankfile place_ranks(const Wishes& wishes, const Facts& facts) {
  std::vector<Host> hosts = wishes.hosts;
  const topo::Machine& machine = common_machine(facts);
  // Schedulers count cores; one rank per accelerator wants only one of them.
  if (wishes.slots_are_limits && !machine.accelerators.empty()) {
    for (Host& host : hosts) {
      host.slots = std::min(host.slots, static_cast<int>(machine.accelerators.size()));
    }
  }
  Rankfile rankfile = place(hosts, machine, wishes.shape);
  for (const HostFacts& host : facts.hosts) {
    if (host.real_machine && !wishes.shape.oversubscribe) {
      check_fit(rankfile, host.name, *host.real_machine);
    }
  }
  return rankfile;
}

}  // namespace

Rankfile make_rankfile(const Wishes& wishes, const Facts& facts) {
  if (!wishes.rankfile) return place_ranks(wishes, facts);
  Rankfile rankfile = *wishes.rankfile;
  for (const HostFacts& host : facts.hosts) {
    if (host.report && !host.report->machine.sockets.empty()) {
      check_fit(rankfile, host.name, host.report->machine);
    }
  }
  const int hosts = static_cast<int>(rankfile.hosts.size());
  rankfile.aisles = std::max({rankfile.aisles, wishes.shape.aisles, 1});
  rankfile.racks = std::max({rankfile.racks, wishes.shape.racks, 1});
  if (rankfile.nodes == 0) rankfile.nodes = hosts / (rankfile.aisles * rankfile.racks);
  if (rankfile.accelerators == 0) rankfile.accelerators = rankfile.size() / hosts;
  return rankfile;
}

}  // namespace tutti::launch
