#include "bench/ddp/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include "bench/harness/progress.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/testbed.h"
#include "bench/harness/worker_group.h"
#include "tutti/core/error.h"
#include "tutti/os/environment.h"

namespace tutti::bench {
namespace {

namespace fs = std::filesystem;
using Args = std::vector<std::string>;

constexpr double kReadySeconds = 60;
constexpr double kBatchSeconds = 0.1;

int host_of(const DdpSettings& settings, int rank) {
  return settings.map_by_node ? rank % settings.hosts : rank / settings.ranks_per_host;
}

Args on_host(const DdpSettings& settings, int host, const Args& args) {
  if (!settings.on_testbed) return args;
  Args result = Testbed::prefix(testbed_script(), fmt::format("host{}", host + 1));
  result.insert(result.end(), args.begin(), args.end());
  return result;
}

// Environment as users of torch.distributed set it. One torch thread per rank: there are no more cores.
Args environment_of(const DdpSettings& settings, int port) {
  return {"env",
          fmt::format("PYTHONPATH={}", (os::prefix() / "python").string()),
          "OMP_NUM_THREADS=1",
          "TUTTI_RUN_FOLDER=none",
          fmt::format("WORLD_SIZE={}", settings.ranks()),
          fmt::format("MASTER_ADDR={}", settings.on_testbed ? "host1" : "127.0.0.1"),
          fmt::format("MASTER_PORT={}", port)};
}

// One process per rank, as with torchrun.
std::vector<ProcessSpec> launch(const DdpSettings& settings, const std::string& system,
                                const fs::path& folder) {
  const Args environment = environment_of(settings, free_port());
  std::vector<ProcessSpec> processes;
  for (int rank = 0; rank < settings.ranks(); ++rank) {
    Args args = environment;
    args.insert(args.end(),
                {fmt::format("RANK={}", rank), "/usr/bin/python3", "-B",
                 os::prefix() / "libexec" / "tutti" / "worker_ddp.py", system, folder.string()});
    processes.push_back({on_host(settings, host_of(settings, rank), args), {}});
  }
  return processes;
}

// Seconds by case, of the slowest rank.
std::vector<double> take_turn(WorkerGroup& group, const std::string& command, double timeout) {
  std::vector<std::vector<double>> times;
  for (const std::string& answer : group.ask(command, timeout)) {
    std::istringstream values(answer.substr(answer.find(' ')));
    times.emplace_back();
    for (double seconds; values >> seconds;) times.back().push_back(seconds);
  }
  return slowest(times);
}

class Contest {
 public:
  Contest(const DdpSettings& settings, const InterruptScope& interrupt)
      : settings_(settings), interrupt_(interrupt), rounds_(settings.is_quick ? 3 : 7) {}

  DdpOutcome run() {
    if (settings_.on_testbed) {
      testbed_.emplace(testbed_script(), settings_.hosts, settings_.link_gigabits,
                       scratch_.path() / "testbed.log", interrupt_);
    }
    for (const char* system : {"ddl", "gloo"}) enter(system);
    // Grouped by subject, so that a model is built once.
    std::vector<std::pair<std::string, std::vector<DdpCase>>> subjects;
    for (const auto& [system, group] : groups_) {
      for (const DdpCase& which : cases_of(settings_, system)) {
        const std::string name =
            which.kind + " " + (which.kind == "step" ? which.subject : which.variant);
        auto found = std::find_if(subjects.begin(), subjects.end(),
                                  [&](auto& s) { return s.first == name; });
        if (found == subjects.end()) found = subjects.insert(subjects.end(), {name, {}});
        found->second.push_back(which);
      }
    }
    Progress progress(static_cast<int>(subjects.size()) * rounds_);
    for (const auto& [name, cases] : subjects) measure(name, cases, progress);
    return std::move(outcome_);
  }

 private:
  void enter(const std::string& system) {
    const fs::path folder = scratch_.path() / system;
    auto group = std::make_shared<WorkerGroup>(system, settings_.ranks(), folder,
                                               launch(settings_, system, folder), interrupt_);
    try {
      group->wait_until_ready(kReadySeconds);
      groups_.emplace_back(system, group);
    } catch (const Error& error) {
      outcome_.failures.push_back(error.what());
    }
  }

  void measure(const std::string& name, const std::vector<DdpCase>& cases, Progress& progress) {
    std::vector<std::vector<double>> samples(cases.size());
    std::vector<int> iterations(cases.size(), 1);
    for (int round = 0; round < rounds_; ++round) {
      progress.step(fmt::format("{} round {} of {}", name, round + 1, rounds_));
      for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::size_t who = (i + static_cast<std::size_t>(round)) % cases.size();
        const auto group = std::find_if(groups_.begin(), groups_.end(), [&](auto& entry) {
          return entry.first == cases[who].system;
        });
        if (group == groups_.end()) continue;
        try {
          if (round == 0) iterations[who] = calibrate(*group->second, cases[who]);
          const auto times =
              take_turn(*group->second, command_of(cases[who], iterations[who]), settings_.timeout);
          samples[who].insert(samples[who].end(), times.begin(), times.end());
        } catch (const Error& error) {
          outcome_.failures.push_back(fmt::format("{}: {}", name, error.what()));
          groups_.erase(group);
        }
      }
    }
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!samples[i].empty()) outcome_.seconds[cases[i]] = summarise(samples[i]);
    }
  }

  static std::string command_of(const DdpCase& which, int iterations) {
    return fmt::format("{} {} {} {}", which.kind, which.subject, which.variant, iterations);
  }

  int calibrate(WorkerGroup& group, const DdpCase& which) const {
    if (which.kind == "step") return settings_.is_quick ? 2 : 3;
    const double once = take_turn(group, command_of(which, 3), settings_.timeout)[0];
    return std::clamp(static_cast<int>(kBatchSeconds / once), 1, 3000);
  }

  const DdpSettings& settings_;
  const InterruptScope& interrupt_;
  const int rounds_;
  ScratchFolder scratch_;
  std::optional<Testbed> testbed_;  // outlives the groups on it
  std::vector<std::pair<std::string, std::shared_ptr<WorkerGroup>>> groups_;
  DdpOutcome outcome_;
};

}  // namespace

const Summary* DdpOutcome::find(const DdpCase& which) const {
  const auto found = seconds.find(which);
  return found == seconds.end() ? nullptr : &found->second;
}

double DdpOutcome::exposed(const std::string& system, const std::string& model,
                           const std::string& variant) const {
  const Summary* whole = find({system, "step", model, variant});
  const Summary* local = find({system, "step", model, "local"});
  return whole && local ? std::max(0.0, whole->median - local->median) : -1;
}

std::vector<DdpCase> cases_of(const DdpSettings& settings, const std::string& system) {
  std::vector<DdpCase> cases;
  const bool is_ours = system == "ddl";
  for (const std::int64_t bytes : settings.sizes) {
    if (is_ours) cases.push_back({system, "reduce", "library", std::to_string(bytes)});
    cases.push_back({system, "reduce", "caller", std::to_string(bytes)});
  }
  for (const std::string& model : settings.models) {
    for (const char* variant : {"sync", "local"}) cases.push_back({system, "step", model, variant});
    if (is_ours && settings.hosts > 1) cases.push_back({system, "step", model, "bf16"});
  }
  return cases;
}

DdpOutcome run_ddp_contest(const DdpSettings& settings, const InterruptScope& interrupt) {
  return Contest(settings, interrupt).run();
}

}  // namespace tutti::bench
