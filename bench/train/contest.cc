#include "bench/train/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/harness/process.h"
#include "bench/harness/progress.h"
#include "bench/harness/scratch_folder.h"
#include "tutti/core/clock.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kTimeout = 300;
constexpr const char* kWithoutMatrixUnits = "DNNL_MAX_CPU_ISA=AVX512_CORE_BF16";

fs::path worker_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "libexec/tutti";
}

std::vector<std::string> rank_environment(const TrainSystem& system, int rank,
                                          const std::string& job) {
  const int number = system.is_apart ? 0 : rank, size = system.is_apart ? 1 : system.ranks;
  std::vector<std::string> all = {fmt::format("RANK={}", number),
                                  fmt::format("WORLD_SIZE={}", size),
                                  fmt::format("LOCAL_RANK={}", number),
                                  fmt::format("LOCAL_WORLD_SIZE={}", size),
                                  fmt::format("TUTTI_JOB={}-{}", job, rank - number),
                                  "MASTER_ADDR=127.0.0.1",
                                  "MASTER_PORT=29631",
                                  "OMP_NUM_THREADS=1",
                                  "OPENBLAS_NUM_THREADS=1"};
  all.insert(all.end(), system.environment.begin(), system.environment.end());
  return all;
}

struct Turn {
  std::vector<double> seconds;  // empty: it failed
  std::string trouble;
  std::int64_t parameters = 0;
};

// The last line of rank 0 that is JSON has the times.
Turn read_turn(const fs::path& log) {
  std::ifstream file(log);
  Turn turn;
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step_seconds")) continue;
    turn.seconds = json["step_seconds"].get<std::vector<double>>();
    turn.parameters = json["parameters"];
  }
  if (turn.seconds.empty()) turn.trouble = last_lines(log, 4);
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
  Turn turn = read_turn(folder.path() / "log-0");
  for (int rank = 1; system.is_apart && rank < system.ranks; ++rank) {
    const Turn other = read_turn(folder.path() / fmt::format("log-{}", rank));
    turn.seconds.insert(turn.seconds.end(), other.seconds.begin(), other.seconds.end());
  }
  return turn;
}

}  // namespace

const std::vector<TrainCase>& train_cases() {
  static const std::vector<TrainCase> cases = {
      {"hep", "image", 224, 8, {"dropout=0.5"}},
      {"cosmoflow", "volume", 64, 8, {}},
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
  std::vector<TrainSystem> systems = {{"tutti", settings.ranks, ours, {tunable}}};
  if (settings.ranks > 1) {
    systems.push_back({"tutti, 1 rank", 1, ours, {tunable}});
    systems.push_back({"tutti, ranks apart", settings.ranks, ours, {tunable}, true});
  }
  for (const std::string& peer : settings.peers)
    for (const char* variant : {"default", "tuned"})
      systems.push_back(
          {fmt::format("{} {}", peer, variant),
           settings.ranks,
           {"/usr/bin/python3", worker_folder() / "worker_train.py", train_case.name, variant,
            std::to_string(side), std::to_string(settings.batch), std::to_string(settings.steps)},
           {}});
  return systems;
}

const Summary* TrainOutcome::find(int side, const std::string& system) const {
  const auto found = step_seconds.find({side, system});
  return found == step_seconds.end() ? nullptr : &found->second;
}

TrainOutcome run_train_contest(const TrainSettings& settings, const InterruptScope& interrupt) {
  TrainOutcome outcome;
  Progress progress(static_cast<int>(settings.sides.size()) * settings.rounds *
                    static_cast<int>(systems_of(settings, settings.sides[0]).size()));
  for (int side : settings.sides) {
    std::vector<TrainSystem> systems = systems_of(settings, side);
    std::map<std::string, std::vector<double>> seconds;
    std::int64_t parameters = 0;  // the same of all, or it is not the same network
    for (int round = 0; round < settings.rounds; ++round) {
      for (TrainSystem& system : systems) {
        progress.step(fmt::format("{} {} {}", settings.train_case.name, side, system.name));
        Turn turn = run_turn(system, interrupt);
        if (turn.seconds.empty() && turn.trouble.find("signal 4") != std::string::npos &&
            system.environment.empty()) {
          outcome.notes.push_back(
              fmt::format("{}: an illegal instruction of oneDNN ended it; measured with {}.",
                          system.name, kWithoutMatrixUnits));
          system.environment.push_back(kWithoutMatrixUnits);
          turn = run_turn(system, interrupt);
        }
        if (turn.seconds.empty())
          outcome.failures.push_back(fmt::format("{} at {}:\n{}", system.name, side, turn.trouble));
        else if (parameters == 0)
          parameters = turn.parameters;
        else if (turn.parameters != parameters)
          outcome.failures.push_back(fmt::format("{} has {} parameters, the first system {}.\n",
                                                 system.name, turn.parameters, parameters));
        auto& all = seconds[system.name];
        all.insert(all.end(), turn.seconds.begin(), turn.seconds.end());
      }
    }
    for (const auto& [name, all] : seconds)
      if (!all.empty()) outcome.step_seconds[{side, name}] = summarise(all);
  }
  return outcome;
}

}  // namespace tutti::bench
