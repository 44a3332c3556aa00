// The runs that are compared, and what is read from them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/harness/interrupt.h"
#include "bench/harness/row.h"
#include "bench/harness/row_file.h"

namespace tutti::bench {

struct HybridSettings {
  int ranks = 5;         // of every strategy; hybrid and async give one of them to the weights
  double slowness = 5;   // of the last rank that trains
  double target = 0.18;  // loss, the mean over the last `window` samples
  double seconds = 60;   // the longest a run may take
  int window = 1024;
  std::vector<std::string> strategies = {"sync", "hybrid", "async"};
  std::vector<std::string> train = {};  // more options of training, "name=value"
  int rounds = 1;                       // of each; the one with the middle time is told
  bool on_testbed = false;              // every rank on a host of its own
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

// What metrics.csv says so far. `batch` samples make one row's loss.
HybridTurn read_turn(const std::map<std::string, std::vector<double>>& metrics, double batch,
                     const HybridSettings& settings);

// Of several runs the one with the middle time; one that did not get there took longest.
HybridTurn middle(std::vector<HybridTurn> turns);

// By strategy, and whether a rank was slow.
using HybridOutcome = std::map<std::pair<std::string, bool>, HybridTurn>;
HybridOutcome run_hybrid_contest(const HybridSettings& settings, const InterruptScope& interrupt);

std::vector<Row> rows_of(const HybridSettings& settings, const HybridOutcome& outcome);
std::string text_of(const HybridSettings& settings, const HybridOutcome& outcome);

}  // namespace tutti::bench
