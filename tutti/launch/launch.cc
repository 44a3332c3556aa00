#include "tutti/launch/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/launch/environment.h"
#include "tutti/launch/job.h"
#include "tutti/launch/network.h"
#include "tutti/launch/preparation.h"
#include "tutti/launch/run_folder.h"
#include "tutti/launch/shell.h"
#include "tutti/topo/number_list.h"
#include "tutti/topo/render.h"

namespace tutti::launch {
namespace {

constexpr int kNothingStarted = 2;

class Launch {
 public:
  Launch(const CommandLine& line, const Own& own)
      : line_(line), own_(own), options_(line.options), wishes_(read_wishes(line, own)) {}

  int run() {
    check_options();
    facts_ = find_facts(line_, wishes_, own_);
    if (options_.flag("check")) return report();
    if (!may_start()) return kNothingStarted;
    if (options_.flag("dry_run")) return show();
    make_command(make_environment("", 0), "");  // throws before anything is left on the disk
    return run_with_restarts();
  }

 private:
  void check_options() const {
    if (options_.flag("no_ddloptions")) return;
    std::string text = "-mode " + options_.text("mode");
    for (const std::string& more : line_.list("ddlarg")) text += " " + more;
    own_.check_ddl_options(text);
  }

  void say(const std::string& text) const {
    if (options_.flag("verbose")) fmt::print(stderr, "ddlrun: {}\n", text);
  }

  // --check
  int report() {
    try {
      facts_.rankfile = make_rankfile(wishes_, facts_);
    } catch (const ConfigError& error) {
      fmt::print("{}\n", error.what());
    }
    const std::vector<CheckResult> results = run_checks(facts_);
    fmt::print("{} host{} from {}, {}\n", wishes_.hosts.size(),
               wishes_.hosts.size() == 1 ? "" : "s", wishes_.source,
               wishes_.mpi ? wishes_.mpi->title() : "no MPI (DDL-3-13)");
    fmt::print("{}", render(results, true));
    if (facts_.matrix.hosts.size() > 1) fmt::print("\n{}", render(facts_.matrix));
    return has_errors(results) || !wishes_.mpi || facts_.rankfile.size() == 0 ? kNothingStarted : 0;
  }

  // Makes the rankfile and makes the checks; says what is wrong.
  bool may_start() {
    const bool all_answer = std::ranges::all_of(
        facts_.hosts, [](const HostFacts& host) { return host.report.has_value(); });
    if (all_answer) facts_.rankfile = make_rankfile(wishes_, facts_);
    if (options_.flag("dry_run") || options_.flag("skipchecks")) {
      if (!all_answer) fmt::print(stderr, "{}", render(run_checks(facts_), false));
      return all_answer;
    }
    const std::vector<CheckResult> results = run_checks(facts_);
    const bool is_verbose = options_.flag("verbose");
    if (is_verbose && all_answer)
      say("the hosts look like this:\n" + topo::render(common_machine(facts_)));
    fmt::print(stderr, "{}", render(results, is_verbose));
    if (!has_errors(results)) return true;
    fmt::print(stderr, "ddlrun: nothing was started. --skipchecks starts without these checks.\n");
    return false;
  }

  Environment make_environment(const std::string& run_folder, int restart) const {
    const Rankfile& rankfile = facts_.rankfile;
    EnvironmentRequest request{.mode = complete_mode(options_.text("mode"), rankfile),
                               .sets_ddl_options = !options_.flag("no_ddloptions"),
                               .ddl_arguments = line_.list("ddlarg"),
                               .exports = line_.list("x"),
                               .master_address = master_address(),
                               .master_port = 29500,
                               .restart = restart,
                               .run_folder = run_folder,
                               .python_folder = find_python_folder(
                                   std::filesystem::path(own_.program).parent_path().string())};
    if (options_.flag("tcp"))
      request.ddl_arguments.insert(request.ddl_arguments.begin(), "-wire tcp");
    if (const HostFacts* first = facts_of(rankfile.ranks[0].host)) {
      if (first->report && first->report->free_port > 0)
        request.master_port = first->report->free_port;
    }
    return rank_environment(own_environment(), rankfile, request);
  }

  const HostFacts* facts_of(const std::string& name) const {
    const auto found = std::ranges::find(facts_.hosts, name, &HostFacts::name);
    return found == facts_.hosts.end() ? nullptr : &*found;
  }

  // Where the others reach rank 0.
  std::string master_address() const {
    const std::string& first = facts_.rankfile.ranks[0].host;
    for (const HostFacts& host : facts_.hosts) {
      if (!host.report || host.name == first) continue;
      const auto route = host.report->routes.find(first);
      if (route != host.report->routes.end() && !route->second.address.empty()) {
        return route->second.address;
      }
    }
    return facts_.rankfile.hosts.size() == 1 && is_this_host(first) ? "127.0.0.1" : first;
  }

  bool is_pinned() const { return !options_.flag("oversubscribe") || wishes_.rankfile; }

  Words make_command(const Environment& environment, const std::string& rankfile_path) const {
    const Rankfile& rankfile = facts_.rankfile;
    const Route route = common_route(facts_.hosts);
    Start start{.ranks = rankfile.size(),
                .is_even = rankfile.is_even(),
                .is_here = rankfile.hosts.size() == 1 && is_this_host(rankfile.hosts[0]),
                .rankfile = rankfile_path,
                .is_pinned = is_pinned(),
                .is_root = ::geteuid() == 0,
                .has_accelerators = !common_machine(facts_).accelerators.empty(),
                .tcp = options_.flag("tcp"),
                .network = route.network,
                .interface = route.interface};
    const std::vector<int> counts = rankfile.ranks_per_host();
    for (std::size_t h = 0; h < counts.size(); ++h)
      start.hosts.push_back({rankfile.hosts[h], counts[h]});
    for (const RankSlot& slot : rankfile.ranks) start.order.push_back(slot.host);
    for (const auto& [name, value] : environment) start.exports.push_back(name);
    if (!options_.flag("dry_run"))
      start.exports.insert(start.exports.end(), {"TUTTI_WATCH", "TUTTI_WATCH_KEY"});
    for (const std::string& text : line_.list("mpiarg")) {
      const Words words = split_words(text);
      start.mpi_arguments.insert(start.mpi_arguments.end(), words.begin(), words.end());
    }
    start.program = {own_.program, "--agent"};
    start.program.insert(start.program.end(), wishes_.program.words.begin(),
                         wishes_.program.words.end());
    return wishes_.mpi->flavour->command(*wishes_.mpi, start);
  }

  // --dry-run
  int show() const {
    const Environment environment = make_environment("", 0);
    fmt::print("{}\n", to_text(facts_.rankfile));
    for (const auto& [name, value] : environment) fmt::print("{}={}\n", name, value);
    fmt::print("\n+ {}\n", shell_line(make_command(environment, "RANKFILE")));
    return 0;
  }

  // Addresses of this host that agents try: first the one that leads to them.
  std::vector<std::string> own_addresses() const {
    std::vector<std::string> addresses;
    const auto add = [&](const std::string& address) {
      if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
    };
    for (const std::string& host : facts_.rankfile.hosts) {
      if (is_this_host(host)) {
        if (facts_.rankfile.hosts.size() == 1) add("127.0.0.1");
        continue;
      }
      const auto address = resolve(host);
      const auto route = address ? route_to(*address) : std::nullopt;
      if (route) add(route->address);
      if (route) break;
    }
    for (const Interface& interface : own_interfaces()) add(interface.address);
    add("127.0.0.1");
    return addresses;
  }

  JobEnd run_once(RunFolder& folder, int attempt) {
    const std::string path = folder.path().string();
    const Environment environment = make_environment(path, attempt);
    JobSpec spec{.command = make_command(environment, path + "/RANKFILE"),
                 .environment = environment,
                 .addresses = own_addresses(),
                 .rankfile = facts_.rankfile,
                 .timeout = options_.is_default("timeout") ? 0 : options_.number("timeout"),
                 .tag_output = options_.flag("tag_output")};
    std::string order;
    for (const RankSlot& slot : facts_.rankfile.ranks) order += slot.host + "\n";
    if (wishes_.mpi->flavour->name == "srun" && !facts_.rankfile.is_even()) {
      folder.write("hosts-by-rank", order);
      spec.environment["SLURM_HOSTFILE"] = path + "/hosts-by-rank";
    }
    if (!wishes_.mpi->flavour->pins_ranks && is_pinned()) {
      for (const RankSlot& slot : facts_.rankfile.ranks) {
        const HostFacts* host = facts_of(slot.host);
        const topo::Machine& machine =
            host && host->report && !host->report->machine.sockets.empty() ? host->report->machine
                                                                           : common_machine(facts_);
        spec.cpus.push_back(topo::format_list(cpus_of(slot, machine)));
      }
    }
    const std::string line = shell_line(spec.command);
    folder.write("RANKFILE", to_text(facts_.rankfile));
    folder.write("topology", topo::to_text(common_machine(facts_)));
    folder.write("command", script_of(wishes_.folder, spec.environment, spec.command));
    folder.events().write("launch", {{"command", line},
                                     {"ranks", std::int64_t{facts_.rankfile.size()}},
                                     {"hosts", host_list_text(facts_.rankfile)},
                                     {"restart", std::int64_t{attempt}}});
    fmt::print(stderr, "+ {}\n", line);
    say("run folder " + path);
    JobEnd end = run_job(spec, folder);
    folder.events().write("job_end",
                          {{"code", std::int64_t{end.exit_code}}, {"message", end.message}});
    if (!end.message.empty())
      fmt::print(stderr, "ddlrun: {}{}", end.message, end.message.ends_with('\n') ? "" : "\n");
    folder.append("ddlrun.log", fmt::format("+ {}\n{}\n", line, end.message));
    return end;
  }

  int run_with_restarts() {
    const std::string& parent = options_.text("log_dir");
    RunFolder folder(parent.empty() ? default_log_folder() : std::filesystem::path(parent));
    const int most = static_cast<int>(options_.integer("max_restarts"));
    for (int attempt = 0;; ++attempt) {
      const JobEnd end = run_once(folder, attempt);
      if (end.exit_code == 0) return 0;
      if (!end.may_restart || attempt == most) {
        fmt::print(stderr, "ddlrun: all about this run is in {}\n", folder.path().string());
        return end.exit_code;
      }
      if (!prepare_restart(attempt + 1, most)) return end.exit_code;
      folder.events().write("restart", {{"number", std::int64_t{attempt + 1}},
                                        {"hosts", host_list_text(facts_.rankfile)}});
    }
  }

  // Looks at the hosts again and goes on with those that answer.
  bool prepare_restart(int number, int most) {
    fmt::print(stderr, "ddlrun: DDL-3-47 restart {} of {}\n", number, most);
    facts_ = find_facts(line_, wishes_, own_);
    const auto is_gone = [](const HostFacts& host) { return !host.report; };
    for (const HostFacts& host : facts_.hosts) {
      if (is_gone(host))
        fmt::print(stderr, "ddlrun: without {}: {} {}\n", host.name, host.failure.code,
                   host.failure.sentence);
    }
    const auto lost = static_cast<std::size_t>(std::ranges::count_if(facts_.hosts, is_gone));
    std::erase_if(wishes_.hosts, [&](const Host& host) {
      const HostFacts* facts = facts_of(host.name);
      return facts && !facts->report;
    });
    std::erase_if(facts_.hosts, is_gone);
    try {
      if (wishes_.hosts.empty()) throw ConfigError("DDL-3-21", "No host answers any more.");
      if (lost > 0) shrink();
      facts_.rankfile = make_rankfile(wishes_, facts_);
    } catch (const ConfigError& error) {
      fmt::print(stderr, "ddlrun: no restart: {}\n", error.what());
      return false;
    }
    const std::vector<CheckResult> results = run_checks(facts_);
    fmt::print(stderr, "{}", render(results, false));
    return !has_errors(results);
  }

  // What was said about the whole no longer holds: racks may not divide the hosts that are left,
  // and their cores may not do for the ranks that were wanted.
  void shrink() {
    if (wishes_.rankfile) throw ConfigError("DDL-3-11", "The rankfile names a host that is gone.");
    Shape& shape = wishes_.shape;
    shape.aisles = shape.racks = shape.nodes = 0;
    const int room = natural_ranks(common_machine(facts_)) * static_cast<int>(wishes_.hosts.size());
    if (shape.ranks > room && !shape.oversubscribe) shape.ranks = room;
  }

  const CommandLine& line_;
  const Own& own_;
  const Options& options_;
  Wishes wishes_;
  Facts facts_;
};

}  // namespace

int launch(const CommandLine& line, const Own& own) {
  return Launch(line, own).run();
}

}  // namespace tutti::launch
