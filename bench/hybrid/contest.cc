#include "bench/hybrid/contest.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <thread>

#include "bench/harness/process.h"
#include "bench/harness/progress.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/testbed.h"
#include "bench/hybrid/quota.h"
#include "tutti/core/clock.h"
#include "tutti/os/environment.h"
#include "tutti/runs/training_log.h"

namespace tutti::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kBatch = 16;

fs::path rank_program() {
  return os::prefix() / "libexec/tutti/train_rank";
}

// A network and data that learn within seconds on a fraction of a CPU. The learning rate is scaled with the samples of
// an update, so that no strategy has an advantage.
std::string config_of(const HybridSettings& settings, const std::string& strategy) {
  std::map<std::string, std::string> values = {{"strategy", strategy},
                                               {"batch", std::to_string(kBatch)},
                                               {"image", "32"},
                                               {"filters", "8"},
                                               {"dropout", "0"},
                                               {"train_events", "4000"},
                                               {"test_events", "300"},
                                               {"val_events", "0"},
                                               {"validation_samples", "64"},
                                               {"epochs", "1000"},
                                               {"schedule", "constant"},
                                               {"warmup", "0"},
                                               {"learning_rate", "0.002"},
                                               {"lr_scaling", "linear"},
                                               {"checkpoint_seconds", "0"},
                                               {"threads", "1"},
                                               {"precision", "f32"}};
  for (const std::string& setting : settings.train)
    values[setting.substr(0, setting.find('='))] = setting.substr(setting.find('=') + 1);
  std::string text = "case = \"hep\"\n";
  for (const auto& [name, value] : values) text += fmt::format("{} = \"{}\"\n", name, value);
  return text;
}

int workers_of(const HybridSettings& settings, const std::string& strategy) {
  return strategy == "sync" ? settings.ranks : settings.ranks - 1;
}

// Ranks whose samples make one update.
int group_of(const HybridSettings& settings, const std::string& strategy) {
  if (strategy == "async") return 1;
  const int workers = workers_of(settings, strategy);
  return strategy == "hybrid" ? (workers + 1) / 2 : workers;
}

// The ranks of one run, each with its share of the CPUs; on the testbed each on its own host.
class Team {
 public:
  struct Plan {
    int ranks = 1, slow_rank = -1;
    double slowness = 1;
    bool is_on_testbed = false;
  };

  Team(const fs::path& run, const Plan& plan) {
    const double fair = 0.9 * static_cast<double>(std::thread::hardware_concurrency()) / plan.ranks;
    const std::string job = fmt::format("hybrid-{}-{}", getpid(), now_ns());
    const int port = free_port();
    for (int rank = 0; rank < plan.ranks; ++rank) {
      // Without cgroups only the slow rank can be limited.
      const double share = (CpuQuota::has_groups() ? std::min(fair, 1.0) : 1.0) /
                           (rank == plan.slow_rank ? plan.slowness : 1.0);
      quotas_.push_back(std::make_unique<CpuQuota>(fmt::format("{}-{}", job, rank), share));
      std::vector<std::string> args;
      if (plan.is_on_testbed)
        args = Testbed::prefix(testbed_script(), fmt::format("host{}", rank + 1));
      for (const std::string& arg : quotas_.back()->wrapped(command_of(run, plan, rank, job, port)))
        args.push_back(arg);
      processes_.emplace_back(ProcessSpec{args, {}, {}}, run / fmt::format("log-{}", rank));
    }
  }
  bool has_ended() {
    return std::any_of(processes_.begin(), processes_.end(),
                       [](Process& process) { return process.has_ended(); });
  }
  void wait(double seconds) { processes_.front().wait_for_end(seconds); }

 private:
  static std::vector<std::string> command_of(const fs::path& run, const Plan& plan, int rank,
                                             const std::string& job, int port) {
    const bool has_hosts = plan.is_on_testbed;
    return {"env",
            fmt::format("RANK={}", rank),
            fmt::format("WORLD_SIZE={}", plan.ranks),
            fmt::format("LOCAL_RANK={}", has_hosts ? 0 : rank),
            fmt::format("LOCAL_WORLD_SIZE={}", has_hosts ? 1 : plan.ranks),
            fmt::format("MASTER_ADDR={}", has_hosts ? "host1" : "127.0.0.1"),
            fmt::format("MASTER_PORT={}", port),
            "TUTTI_JOB=" + job,
            "TUTTI_RUN_FOLDER=" + run.string(),
            "OMP_NUM_THREADS=1",
            "OPENBLAS_NUM_THREADS=1",
            rank_program(),
            "start",
            run};
  }

  std::vector<std::unique_ptr<CpuQuota>> quotas_;  // must outlive their processes
  std::vector<Process> processes_;
};

HybridTurn run_turn(const HybridSettings& settings, const std::string& strategy, bool is_slow,
                    const InterruptScope& interrupt) {
  const ScratchFolder folder;
  runs::write_text(folder.path() / "config.toml", config_of(settings, strategy));
  const int slow_rank = is_slow ? workers_of(settings, strategy) - 1 : -1;
  Team team(folder.path(), {settings.ranks, slow_rank, settings.slowness, settings.on_testbed});
  const double batch = kBatch * group_of(settings, strategy);
  HybridTurn turn;
  for (bool ended = false; !ended;) {
    interrupt.check();
    team.wait(0.2);
    ended = team.has_ended();
    const auto metrics = runs::read_metrics(folder.path());
    turn = read_turn(metrics, batch, settings);
    if (turn.seconds_to_target >= 0) break;
    if (metrics.contains("seconds") && metrics.at("seconds").back() > settings.seconds) break;
    if (ended) turn.trouble = last_lines(folder.path() / "log-0", 4);
  }
  return turn;
}

// Generates the events before the first run, so that no run waits for them.
void make_events(const HybridSettings& settings) {
  const ScratchFolder folder;
  runs::write_text(folder.path() / "config.toml", config_of(settings, "sync") + "steps = 1\n");
  Team team(folder.path(), {});
  while (!team.has_ended()) team.wait(1);
}

}  // namespace

HybridTurn read_turn(const std::map<std::string, std::vector<double>>& metrics, double batch,
                     const HybridSettings& settings) {
  HybridTurn turn;
  const auto losses = metrics.find("loss"), seconds = metrics.find("seconds");
  if (losses == metrics.end() || seconds == metrics.end()) return turn;
  const auto rows = std::max<std::size_t>(1, static_cast<std::size_t>(settings.window / batch));
  double sum = 0;
  for (std::size_t i = 0; i < losses->second.size(); ++i) {
    sum += losses->second[i] - (i >= rows ? losses->second[i - rows] : 0.0);
    turn.last_loss = sum / static_cast<double>(std::min(i + 1, rows));
    if (i + 1 >= rows && turn.last_loss <= settings.target && turn.seconds_to_target < 0)
      turn.seconds_to_target = seconds->second[i];
  }
  turn.updates_per_second = metrics.at("step").back() / std::max(1e-9, seconds->second.back());
  turn.samples_per_second = turn.updates_per_second * batch;
  return turn;
}

HybridTurn middle(std::vector<HybridTurn> turns) {
  const auto time = [](const HybridTurn& turn) {
    return turn.seconds_to_target < 0 ? std::numeric_limits<double>::infinity()
                                      : turn.seconds_to_target;
  };
  std::ranges::sort(turns, {}, time);
  HybridTurn turn = turns[(turns.size() - 1) / 2];
  turn.fastest = turns.front().seconds_to_target;
  turn.slowest = turns.back().seconds_to_target;
  for (const HybridTurn& each : turns)
    if (!each.trouble.empty()) turn.trouble = each.trouble;
  return turn;
}

HybridOutcome run_hybrid_contest(const HybridSettings& settings, const InterruptScope& interrupt) {
  const ScratchFolder folder;
  std::optional<Testbed> testbed;
  if (settings.on_testbed)
    testbed.emplace(testbed_script(), settings.ranks, settings.link_gigabits,
                    folder.path() / "testbed.log", interrupt);
  Progress progress(1 + 2 * settings.rounds * static_cast<int>(settings.strategies.size()));
  progress.step("events");
  make_events(settings);
  std::map<std::pair<std::string, bool>, std::vector<HybridTurn>> turns;
  for (int round = 0; round < settings.rounds; ++round)
    for (bool is_slow : {false, true})
      for (const std::string& strategy : settings.strategies) {
        progress.step(fmt::format("{}{}", strategy, is_slow ? " with a slow rank" : ""));
        turns[{strategy, is_slow}].push_back(run_turn(settings, strategy, is_slow, interrupt));
      }
  HybridOutcome outcome;
  for (auto& [what, all] : turns) outcome[what] = middle(std::move(all));
  return outcome;
}

}  // namespace tutti::bench
