// The compared runs and their results.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/harness/interrupt.h"
#include "bench/harness/row.h"
#include "bench/harness/row_file.h"

namespace tutti::bench {

struct HybridSettings {
  int ranks = 5;         // of every strategy; hybrid and async use one of them as parameter server
  double slowness = 5;   // slowdown of the last rank that trains
  double target = 0.18;  // loss, the mean over the last `window` samples
  double seconds = 60;   // time limit of a run
  int window = 1024;
  std::vector<std::string> strategies = {"sync", "hybrid", "async"};
  std::vector<std::string> train = {};  // further options of training, "name=value"
  int rounds = 1;                       // of each; the one with the median time is reported
  bool on_testbed = false;              // every rank on a separate host
  double link_gigabits = 1;
  RowFile row_file = {};
};

struct HybridTurn {
  double updates_per_second = 0, samples_per_second = 0;
  double seconds_to_target = -1;  // negative: not reached
  double last_loss = 0;
  std::string trouble = {};
  double fastest = -1, slowest = -1;  // times of all rounds; negative: not reached
};

// Evaluates metrics.csv so far. `batch`: samples per row.
HybridTurn read_turn(const std::map<std::string, std::vector<double>>& metrics, double batch,
                     const HybridSettings& settings);

// The run with the median time; runs that did not reach the target count as the slowest.
HybridTurn middle(std::vector<HybridTurn> turns);

// Key: strategy, and whether one rank was slow.
using HybridOutcome = std::map<std::pair<std::string, bool>, HybridTurn>;
HybridOutcome run_hybrid_contest(const HybridSettings& settings, const InterruptScope& interrupt);

std::vector<Row> rows_of(const HybridSettings& settings, const HybridOutcome& outcome);
std::string text_of(const HybridSettings& settings, const HybridOutcome& outcome);

}  // namespace tutti::bench
