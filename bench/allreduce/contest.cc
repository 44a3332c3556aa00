#include "bench/allreduce/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "bench/allreduce/systems.h"
#include "bench/allreduce/turn.h"
#include "bench/harness/progress.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/testbed.h"
#include "tutti/core/bytes.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

constexpr double kReadySeconds = 60;

Effort effort_of(const AllreduceSettings& settings) {
  return settings.is_quick ? Effort{3, 2, 0.004} : Effort{7, 3, 0.010};
}

void append(std::vector<double>& samples, const std::vector<double>& more) {
  samples.insert(samples.end(), more.begin(), more.end());
}

class Contest {
 public:
  Contest(const AllreduceSettings& settings, const InterruptScope& interrupt)
      : settings_(settings), interrupt_(interrupt), effort_(effort_of(settings)) {}

  Outcome run() {
    if (settings_.on_testbed)
      testbed_.emplace(testbed_script(), settings_.hosts, settings_.link_gigabits,
                       scratch_.path() / "testbed.log", interrupt_);
    enter("tutti", settings_.memory);
    for (const std::string& baseline : settings_.baselines) enter(baseline, {"caller"});
    if (settings_.hosts == 1) enter("traffic", {"caller"});
    Progress progress(static_cast<int>(settings_.sizes.size()) * (effort_.rounds + 1));
    try {
      for (; outcome_.sizes < settings_.sizes.size(); ++outcome_.sizes)
        measure(settings_.sizes[outcome_.sizes], progress);
    } catch (const Interrupted& interrupted) {
      if (outcome_.sizes == 0) throw;
      outcome_.signal = interrupted.signal;
    }
    return std::move(outcome_);
  }

 private:
  void enter(const std::string& system, const std::vector<std::string>& memory) {
    std::filesystem::path folder = scratch_.path() / system;
    Launch launch = launch_of(system, settings_, folder);
    if (!launch.why_skipped.empty()) {
      outcome_.skipped.push_back(fmt::format("{} skipped: {}.", system, launch.why_skipped));
      return;
    }
    auto group = std::make_shared<WorkerGroup>(system, settings_.ranks(), folder, launch.processes,
                                               interrupt_);
    try {
      group->wait_until_ready(kReadySeconds);
      for (const std::string& kind : memory) entrants_.push_back({system, kind, group});
    } catch (const Error& error) {
      outcome_.failures.push_back(error.what());
    }
  }

  void measure(std::int64_t bytes, Progress& progress) {
    std::vector<Turn> turns(entrants_.size());
    std::vector<std::vector<double>> samples(entrants_.size());
    // Round 0 is for calibration.
    for (int round = 0; round <= effort_.rounds; ++round) {
      progress.step(fmt::format(
          "{} {}", format_bytes(bytes),
          round ? fmt::format("round {} of {}", round, effort_.rounds) : "calibrating"));
      for (std::size_t i = 0; i < entrants_.size(); ++i) {
        std::size_t who = (i + static_cast<std::size_t>(round)) % entrants_.size();
        if (!entrants_[who].group) continue;
        try {
          if (round == 0)
            turns[who] = calibrate(*entrants_[who].group, entrants_[who].memory, bytes, effort_,
                                   settings_.timeout);
          else
            append(samples[who], take_turn(*entrants_[who].group, entrants_[who].memory, bytes,
                                           turns[who], settings_.timeout));
        } catch (const Error& error) {
          outcome_.failures.push_back(fmt::format("at {}: {}", format_bytes(bytes), error.what()));
          drop(entrants_[who].system);
        }
      }
    }
    std::size_t who = 0;
    for (const Entrant& entrant : entrants_) {
      if (entrant.group)
        outcome_.seconds[{entrant.system, entrant.memory, bytes}] = summarise(samples[who]);
      ++who;
    }
    std::erase_if(entrants_, [](const Entrant& entrant) { return !entrant.group; });
  }

  // Kills the workers immediately: a rank that is blocked in an operation may be spinning on a core.
  void drop(const std::string& system) {
    for (Entrant& entrant : entrants_)
      if (entrant.system == system) entrant.group.reset();
  }

  const AllreduceSettings& settings_;
  const InterruptScope& interrupt_;
  Effort effort_;
  ScratchFolder scratch_;
  std::optional<Testbed> testbed_;  // must outlive the worker groups that use it
  std::vector<Entrant> entrants_;
  Outcome outcome_;
};

}  // namespace

const Summary* Outcome::find(const std::string& system, const std::string& memory,
                             std::int64_t bytes) const {
  auto found = seconds.find({system, memory, bytes});
  return found == seconds.end() ? nullptr : &found->second;
}

Outcome run_contest(const AllreduceSettings& settings, const InterruptScope& interrupt) {
  return Contest(settings, interrupt).run();
}

}  // namespace tutti::bench
