// Measured systems and their command lines.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/harness/interrupt.h"
#include "bench/harness/row.h"
#include "bench/harness/row_file.h"
#include "bench/harness/statistics.h"

namespace tutti::bench {

// A measured case.
struct TrainCase {
  std::string name;
  std::string side_option;           // of the case: side of a sample
  int side, batch;                   // `batch` per rank
  std::vector<std::string> options;  // that make Tutti compute the same as the baselines' script
};
const std::vector<TrainCase>& train_cases();

struct TrainSettings {
  TrainCase train_case = train_cases().front();
  int ranks = 2;
  std::vector<int> sides = {train_case.side};  // of a sample, in pixels or voxels
  int batch = train_case.batch;                // per rank
  int steps = 6, rounds = 2;                   // measured steps per round; rounds of each system
  std::vector<std::string> baselines = {"torch-ddp"};
  RowFile row_file = {};
};

// One line of the table:
// - "tutti": all ranks;
// - "tutti, 1 rank": one rank while the others are idle;
// - "tutti, ranks apart": ranks that train independently, which shows the speed of the CPUs when all are busy;
// - "tutti, slowest apart": the slowest of these in each step, the bound for a synchronous step;
// - the variants of the baselines.
// The program of "tutti" also measures the next three, in turns with its own steps.
struct TrainSystem {
  std::string name;
  int ranks;
  std::string key;                            // of its times in the output of the program
  std::vector<std::string> arguments = {};    // program first; empty: measured by another
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

// Each system in turn, `rounds` times, each rank bound to one CPU with one thread. A system that ends with an illegal
// instruction is run again without AMX, with a note.
TrainOutcome run_train_contest(const TrainSettings& settings, const InterruptScope& interrupt);

// Samples per second of all ranks; ratio of Tutti to each baseline; scaling of Tutti from one rank.
std::vector<Row> rows_of(const TrainSettings& settings, const TrainOutcome& outcome);
std::string text_of(const TrainSettings& settings, const TrainOutcome& outcome);

}  // namespace tutti::bench
