// What is measured, and how each system is started.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/harness/interrupt.h"
#include "bench/harness/row.h"
#include "bench/harness/row_file.h"
#include "bench/harness/statistics.h"

namespace tutti::bench {

// A case as it is measured.
struct TrainCase {
  std::string name;
  std::string side_option;           // of the case: how long a sample is along a side
  int side, batch;                   // of its own, `batch` of each rank
  std::vector<std::string> options;  // so that ours computes what the peers' script does
};
const std::vector<TrainCase>& train_cases();

struct TrainSettings {
  TrainCase train_case = train_cases().front();
  int ranks = 2;
  std::vector<int> sides = {train_case.side};
  int batch = train_case.batch;
  int steps = 6, rounds = 2;
  std::vector<std::string> peers = {"torch-ddp"};
  RowFile row_file = {};
};

// Ours on all ranks; on one rank alone; on as many ranks that train each for itself, which is what
// the processors give when all are busy; the slowest of these in each step, which is what a step of
// all can be at best; and the peers' variants. The second to fourth are measured by the first, in
// turns with its own steps.
struct TrainSystem {
  std::string name;
  int ranks;
  std::string key;                            // of its times in what the program prints
  std::vector<std::string> arguments = {};    // the program first; none: measured by another
  std::vector<std::string> environment = {};  // "NAME=value"
};
inline const std::string kOneRank = "tutti, 1 rank", kRanksApart = "tutti, ranks apart",
                         kSlowestApart = "tutti, slowest apart";
std::vector<TrainSystem> systems_of(const TrainSettings& settings, int side);

struct TrainOutcome {
  std::map<std::pair<int, std::string>, Summary> step_seconds;  // by side and system
  std::vector<std::string> notes;
  std::vector<std::string> failures;
  const Summary* find(int side, const std::string& system) const;
};

// Each system in turn, `rounds` times over, each rank bound to its own processor with one thread.
// A system that an illegal instruction ends is tried again without matrix units, with a note.
TrainOutcome run_train_contest(const TrainSettings& settings, const InterruptScope& interrupt);

// Samples per second of all ranks; ratio of ours to each peer; scaling of ours from one rank.
std::vector<Row> rows_of(const TrainSettings& settings, const TrainOutcome& outcome);
std::string text_of(const TrainSettings& settings, const TrainOutcome& outcome);

}  // namespace tutti::bench
