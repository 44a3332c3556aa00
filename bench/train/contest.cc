#include "bench/train/contest.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/harness/process.h"
#include "bench/harness/progress.h"
#include "bench/harness/scratch_folder.h"
#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/os/environment.h"

namespace tutti::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kTimeout = 300;
constexpr const char* kWithoutMatrixUnits = "DNNL_MAX_CPU_ISA=AVX512_CORE_BF16";

fs::path worker_folder() {
  return os::prefix() / "libexec/tutti";
}

std::vector<std::string> rank_environment(const TrainSystem& system, int rank,
                                          const std::string& job) {
  std::vector<std::string> all = {fmt::format("RANK={}", rank),
                                  fmt::format("WORLD_SIZE={}", system.ranks),
                                  fmt::format("LOCAL_RANK={}", rank),
                                  fmt::format("LOCAL_WORLD_SIZE={}", system.ranks),
                                  fmt::format("TUTTI_JOB={}", job),
                                  "MASTER_ADDR=127.0.0.1",
                                  "MASTER_PORT=29631",
                                  "OMP_NUM_THREADS=1",
                                  "OPENBLAS_NUM_THREADS=1"};
  all.insert(all.end(), system.environment.begin(), system.environment.end());
  return all;
}

struct Turn {
  nlohmann::json line;  // null: it failed
  std::string trouble;
};

// The last line of rank 0 that is JSON has the times.
Turn read_turn(const fs::path& log) {
  std::ifstream file(log);
  Turn turn;
  for (std::string line; std::getline(file, line);) {
    nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("step_seconds")) turn.line = std::move(json);
  }
  if (turn.line.is_null()) turn.trouble = last_lines(log, 4);
  return turn;
}

Turn run_turn(const TrainSystem& system, const InterruptScope& interrupt) {
  const ScratchFolder folder;
  const std::string job = fmt::format("bench-{}", now_ns());
  std::vector<Process> processes;
  for (int rank = 0; rank < system.ranks; ++rank)
    processes.emplace_back(
        ProcessSpec{system.arguments, rank_environment(system, rank, job), {rank}},
        folder.path() / fmt::format("log-{}", rank));
  const Stopwatch watch;
  for (Process& process : processes) {
    while (!process.has_ended()) {
      interrupt.check();
      process.wait_for_end(0.1);
      if (watch.seconds() > kTimeout)
        return {{}, fmt::format("    no result within {} s\n", kTimeout)};
    }
    if (!process.succeeded()) {
      const std::string how = process.how_it_ended();
      return {{}, fmt::format("    a rank {}\n{}", how, last_lines(folder.path() / "log-0", 4))};
    }
  }
  return read_turn(folder.path() / "log-0");
}

// Retries without AMX if an illegal instruction ended the program.
Turn run_with_fallback(TrainSystem& system, const InterruptScope& interrupt,
                       TrainOutcome& outcome) {
  Turn turn = run_turn(system, interrupt);
  if (!turn.line.is_null() || turn.trouble.find("signal 4") == std::string::npos ||
      !system.environment.empty())
    return turn;
  outcome.notes.push_back(
      fmt::format("{}: an illegal instruction of oneDNN ended it; measured with {}.", system.name,
                  kWithoutMatrixUnits));
  system.environment.push_back(kWithoutMatrixUnits);
  return run_turn(system, interrupt);
}

}  // namespace

const std::vector<TrainCase>& train_cases() {
  static const std::vector<TrainCase> cases = {
      {"hep", "image", 224, 8, {"dropout=0.5"}},
      {"cosmoflow", "volume", 64, 8, {"readout=last"}},
      {"climate-segment", "rows", 96, 2, {"optimizer=adam", "lag=0"}},
  };
  return cases;
}

std::vector<TrainSystem> systems_of(const TrainSettings& settings, int side) {
  const TrainCase& train_case = settings.train_case;
  std::vector<std::string> ours = {worker_folder() / "train_rank",
                                   "speed",
                                   train_case.name,
                                   std::to_string(settings.steps),
                                   fmt::format("{}={}", train_case.side_option, side),
                                   fmt::format("batch={}", settings.batch)};
  ours.insert(ours.end(), train_case.options.begin(), train_case.options.end());
  const std::string tunable = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";
  std::vector<TrainSystem> systems = {{"tutti", settings.ranks, "step_seconds", ours, {tunable}}};
  if (settings.ranks > 1) {
    systems.push_back({kOneRank, 1, "alone_seconds"});
    systems.push_back({kRanksApart, settings.ranks, "apart_seconds"});
    systems.push_back({kSlowestApart, settings.ranks, "slowest_seconds"});
  }
  for (const std::string& baseline : settings.baselines)
    for (const char* variant : {"default", "tuned"})
      systems.push_back(
          {fmt::format("{} {}", baseline, variant),
           settings.ranks,
           "step_seconds",
           {"/usr/bin/python3", worker_folder() / "worker_train.py", train_case.name, variant,
            std::to_string(side), std::to_string(settings.batch), std::to_string(settings.steps)}});
  return systems;
}

const Summary* TrainOutcome::find(int side, const std::string& system) const {
  const auto found = step_seconds.find({side, system});
  return found == step_seconds.end() ? nullptr : &found->second;
}

TrainOutcome run_train_contest(const TrainSettings& settings, const InterruptScope& interrupt) {
  TrainOutcome outcome;
  Progress progress(static_cast<int>(settings.sides.size()) * settings.rounds *
                    static_cast<int>(1 + 2 * settings.baselines.size()));
  for (int side : settings.sides) {
    std::vector<TrainSystem> systems = systems_of(settings, side);
    std::map<std::string, std::vector<double>> seconds;
    std::int64_t parameters = 0;  // must be the same for all: otherwise the networks differ
    for (int round = 0; round < settings.rounds; ++round) {
      nlohmann::json line;
      for (TrainSystem& system : systems) {
        if (!system.arguments.empty()) {
          progress.step(fmt::format("{} {} {}", settings.train_case.name, side, system.name));
          const Turn turn = run_with_fallback(system, interrupt, outcome);
          line = turn.line;
          if (line.is_null())
            outcome.failures.push_back(
                fmt::format("{} at {}:\n{}", system.name, side, turn.trouble));
          else if (parameters == 0)
            parameters = line["parameters"];
          else if (line["parameters"] != parameters)
            outcome.failures.push_back(
                fmt::format("{} has {} parameters, the first system {}.\n", system.name,
                            line["parameters"].get<std::int64_t>(), parameters));
        }
        if (line.is_null()) continue;
        const auto more = line[system.key].get<std::vector<double>>();
        auto& all = seconds[system.name];
        all.insert(all.end(), more.begin(), more.end());
      }
    }
    for (const auto& [name, all] : seconds) outcome.step_seconds[{side, name}] = summarise(all);
  }
  return outcome;
}

}  // namespace tutti::bench
