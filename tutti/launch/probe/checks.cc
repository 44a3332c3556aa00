#include "tutti/launch/probe/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace tutti::launch {
namespace {

using Findings = std::vector<Finding>;

constexpr double kMostClockSeconds = 1;
constexpr std::int64_t kSharedMemoryPerRank = 64 << 20;
constexpr std::int64_t kTemporarySpace = 16 << 20;

double mebibytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

// One finding for every host that replied and for which `check` returns a message.
Findings each(const Facts& facts, const char* code,
              const std::function<std::string(const HostFacts&)>& check) {
  Findings all;
  for (const HostFacts& host : facts.hosts) {
    if (!host.report) continue;
    std::string message = check(host);
    if (!message.empty()) all.push_back({code, std::move(message)});
  }
  return all;
}

Findings unreachable(const Facts& facts) {
  Findings all;
  for (const HostFacts& host : facts.hosts) {
    if (!host.report) all.push_back({host.failure.code, host.failure.message});
  }
  return all;
}

Findings same_host_twice(const Facts& facts) {
  std::map<std::string, std::string> names;
  return each(facts, "DDL-3-06", [&](const HostFacts& host) -> std::string {
    const auto [seen, is_new] = names.emplace(host.report->identity, host.name);
    if (is_new || host.report->identity.empty()) return "";
    return fmt::format(
        "{} and {} are one host. Name it once, with a number of ranks if it is to "
        "have several: {}:2.",
        seen->second, host.name, host.name);
  });
}

Findings other_tutti(const Facts& facts) {
  return each(facts, "DDL-3-25", [&](const HostFacts& host) -> std::string {
    if (host.report->version == facts.version) return "";
    return fmt::format("{} has Tutti {}, this machine {}. Install the same on all hosts.",
                       host.name, host.report->version, facts.version);
  });
}

Findings other_mpi(const Facts& facts) {
  if (facts.mpi.empty()) return {};
  return each(facts, "DDL-3-26", [&](const HostFacts& host) -> std::string {
    if (host.report->mpi == facts.mpi) return "";
    return fmt::format("{} has {}, this machine {}. Install the same MPI on all hosts.", host.name,
                       host.report->mpi.empty() ? "no MPI under that name" : host.report->mpi,
                       facts.mpi);
  });
}

Findings no_program(const Facts& facts) {
  if (facts.program.empty()) return {};
  return each(facts, "DDL-3-27", [&](const HostFacts& host) -> std::string {
    if (host.report->program.empty()) {
      return fmt::format(
          "{} has no program {}. Install it there, use its full path, or check PATH.", host.name,
          facts.program);
    }
    const auto& missing = host.report->missing_files;
    if (missing.empty()) return "";
    return fmt::format("{} has no file {}. Copy it there, or use a common file system.", host.name,
                       fmt::join(missing, ", "));
  });
}

Findings no_folder(const Facts& facts) {
  return each(facts, "DDL-3-28", [&](const HostFacts& host) -> std::string {
    if (host.report->has_folder) return "";
    return fmt::format(
        "{} has no directory {}, the working directory of the ranks. Create it, or "
        "start the job from a directory that all hosts have.",
        host.name, facts.folder);
  });
}

Findings other_hardware(const Facts& facts) {
  if (facts.shapes_may_differ) return {};
  const auto first = std::ranges::find_if(
      facts.hosts, [](const HostFacts& host) { return host.report.has_value(); });
  if (first == facts.hosts.end()) return {};
  return each(facts, "DDL-3-29", [&](const HostFacts& host) -> std::string {
    const auto differences = topo::differences(first->report->machine, host.report->machine);
    if (differences.empty()) return "";
    return fmt::format(
        "{} differs from {}: {}. Omit it, or assign the ranks with "
        "-rankfile.",
        host.name, first->name, fmt::join(differences, "; "));
  });
}

Findings clocks(const Facts& facts) {
  return each(facts, "DDL-3-30", [](const HostFacts& host) -> std::string {
    if (std::abs(host.clock_ahead) <= kMostClockSeconds) return "";
    return fmt::format(
        "The clock of {} is {:.1f} s {} this machine's. Timestamps of logs and checkpoints would "
        "be inconsistent. Synchronize it with NTP.",
        host.name, std::abs(host.clock_ahead), host.clock_ahead > 0 ? "ahead of" : "behind");
  });
}

Findings little_shared_memory(const Facts& facts) {
  const std::vector<int> ranks = facts.rankfile.ranks_per_host();
  return each(facts, "DDL-3-31", [&](const HostFacts& host) -> std::string {
    const auto at =
        std::ranges::find(facts.rankfile.hosts, host.name) - facts.rankfile.hosts.begin();
    const int count = at < static_cast<std::ptrdiff_t>(ranks.size()) ? ranks[at] : 1;
    const std::int64_t wanted = count * kSharedMemoryPerRank;
    if (host.report->shared_memory >= wanted) return "";
    return fmt::format(
        "{} has {:.0f} MiB free in /dev/shm for {} ranks; data loaders and MPI need about {} MiB. "
        "Enlarge it (docker: --shm-size=1g), or remove old files from it.",
        host.name, static_cast<double>(host.report->shared_memory) / (1 << 20), count,
        wanted >> 20);
  });
}

// MPI and ddlrun write session files before the first rank starts.
Findings little_temporary_space(const Facts& facts) {
  return each(facts, "DDL-3-37", [](const HostFacts& host) -> std::string {
    if (host.report->temporary_space >= kTemporarySpace) return "";
    return fmt::format(
        "{} has {:.1f} MiB free in {}; MPI and ddlrun need about {} MiB there. Free some space, or "
        "set TMPDIR to another directory.",
        host.name, mebibytes(host.report->temporary_space), host.report->temporary_folder,
        kTemporarySpace >> 20);
  });
}

Findings no_port(const Facts& facts) {
  if (facts.hosts.empty() || !facts.hosts.front().report) return {};
  const HostFacts& first = facts.hosts.front();
  if (first.report->port_is_busy) {
    return {
        {"DDL-3-32",
         fmt::format("Port {} (MASTER_PORT) of {} is in use. Unset MASTER_PORT to use a free port.",
                     facts.port, first.name)}};
  }
  return each(facts, "DDL-3-32", [](const HostFacts& host) -> std::string {
    if (host.report->free_port > 0) return "";
    return fmt::format("{} has no free port. List the used ports: ss -tan", host.name);
  });
}

Findings no_common_network(const Facts& facts) {
  Findings all = each(facts, "DDL-3-33", [&](const HostFacts& host) -> std::string {
    for (const HostFacts& peer : facts.hosts) {
      const auto route = host.report->routes.find(peer.name);
      if (&peer == &host || !peer.report || route == host.report->routes.end()) continue;
      if (route->second.address.empty()) {
        return fmt::format("{} cannot resolve the name {}. Add it to its /etc/hosts or to DNS.",
                           host.name, peer.name);
      }
      if (route->second.own.empty()) {
        return fmt::format(
            "{} has no route to {} ({}). The name must resolve to an address that other hosts "
            "reach.",
            host.name, peer.name, route->second.address);
      }
    }
    return "";
  });
  return all;
}

Findings dead_links(const Facts& facts) {
  Findings all;
  for (const std::string& link : find_dead_links(facts.matrix)) {
    all.push_back({"DDL-3-34", link + ". Open the ports 1024 to 65535 between the hosts."});
  }
  return all;
}

Findings slow_links(const Facts& facts) {
  Findings all;
  for (const std::string& link : find_slow_links(facts.matrix)) {
    all.push_back({"DDL-3-35", link + ". Check its cable, port and other traffic; every step of a "
                                      "job waits for the slowest link."});
  }
  return all;
}

}  // namespace

const std::vector<Check>& checks() {
  static const std::vector<Check> table = {
      {"DDL-3-21", "every host answers without a password", false, unreachable},
      {"DDL-3-06", "no host under two names", false, same_host_twice},
      {"DDL-3-25", "the same Tutti everywhere", false, other_tutti},
      {"DDL-3-26", "the same MPI everywhere", false, other_mpi},
      {"DDL-3-27", "the program exists everywhere", false, no_program},
      {"DDL-3-28", "the working directory exists everywhere", false, no_folder},
      {"DDL-3-29", "the same hardware everywhere", false, other_hardware},
      {"DDL-3-30", "clocks agree within 1 s", true, clocks},
      {"DDL-3-31", "free shared memory", true, little_shared_memory},
      {"DDL-3-37", "free temporary space", true, little_temporary_space},
      {"DDL-3-32", "free ports", false, no_port},
      {"DDL-3-33", "hosts know names and routes of each other", false, no_common_network},
      {"DDL-3-34", "hosts connect to each other, both ways", false, dead_links},
      {"DDL-3-35", "links are equally fast", true, slow_links, true},
  };
  return table;
}

std::vector<CheckResult> run_checks(const Facts& facts) {
  std::vector<CheckResult> results;
  for (const Check& check : checks()) {
    if (check.needs_speeds && !has_speeds(facts.matrix))
      results.push_back({&check, {}, false});
    else
      results.push_back({&check, check.find(facts)});
  }
  return results;
}

bool has_errors(const std::vector<CheckResult>& results) {
  return std::ranges::any_of(results, [](const CheckResult& result) {
    return !result.check->only_warns && !result.findings.empty();
  });
}

std::string render_space(const Facts& facts) {
  std::string text = fmt::format("{:<20}  {:>14}  {:>14}  {}\n", "free space, MiB", "temporary",
                                 "/dev/shm", "temporary directory");
  for (const HostFacts& host : facts.hosts) {
    if (!host.report) continue;
    text += fmt::format("{:<20}  {:>14.0f}  {:>14.0f}  {}\n", host.name,
                        mebibytes(host.report->temporary_space),
                        mebibytes(host.report->shared_memory), host.report->temporary_folder);
  }
  return text;
}

std::string render(const std::vector<CheckResult>& results, bool everything) {
  std::string text;
  for (const CheckResult& result : results) {
    const char* const word = !result.was_run            ? "-"
                             : result.findings.empty()  ? "ok"
                             : result.check->only_warns ? "warning"
                                                        : "error";
    if (everything)
      text += fmt::format("{:<8}{} {}\n", word, result.check->code, result.check->what);
    for (const Finding& finding : result.findings) {
      text += everything ? fmt::format("        {} {}\n", finding.code, finding.message)
                         : fmt::format("{}: {} {}\n", word, finding.code, finding.message);
    }
  }
  return text;
}

}  // namespace tutti::launch
