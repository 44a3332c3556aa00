// Results of `tutti bench tune`.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "bench/harness/row.h"

namespace tutti::bench {

struct Suggestion {
  std::string system, algorithm;
  int trials = 0;  // in the study
  double seconds = 0;
  int samples = 0;
};

// Best values of several seeds on one problem, minus the optimum.
struct Regret {
  std::string system, algorithm, problem;
  std::vector<double> values;
};

struct TuneResults {
  std::vector<Suggestion> suggestions;
  std::vector<Regret> regrets;
  std::vector<std::string> notes;
};

// Reads the lines that a worker has written. Throws IoError (DDL-8-76) for other text.
TuneResults read_results(const std::filesystem::path& file);

// Mean regret on a problem, divided by that of random search of the same library; at most 1 for a useful algorithm.
double normalized_regret(const TuneResults& results, const Regret& regret);

std::string text_of(const TuneResults& results);
std::vector<Row> rows_of(const TuneResults& results);

}  // namespace tutti::bench
