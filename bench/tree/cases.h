// Cases of `tutti bench tree`: one kind of model on one number of rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/row_file.h"

namespace tutti::bench {

struct TreeCase {
  std::string name;  // "tree", "deep_tree", "boosting", "forest"
  std::int64_t rows = 0;
  int depth = 0;  // 0: no limit
  int trees = 1, leaves = 0;
  std::vector<std::string> baselines;
  int min_samples_leaf = 1;  // for the trees and forests of all systems
};

struct TreeSettings {
  std::vector<std::string> cases;  // names
  std::vector<std::string> baselines;
  std::int64_t rows = 0;  // 0: depends on the case
  std::int64_t test_rows = 200'000;
  int min_samples_leaf = 1;
  int threads = 2, repeats = 3;
  RowFile row_file;
  bool is_quick = false;
  double timeout = 600;
};

// Times and quality of one system.
struct TreeResult {
  std::string system;
  std::vector<double> fit_seconds;  // including binning or conversion
  double binning_seconds = 0;       // median part of fit_seconds, if the system reports it
  double predict_seconds = 0;       // all test rows
  double row_microseconds = 0;      // one row at a time; 0: not measured
  // Rows x columns accumulated into the histograms of one tree, without larger children and leaves of the last level.
  double visits = 0;
  double log_loss = 0, auc = 0, accuracy = 0;
};

// Parses the command line. Returns false if it only printed the help.
bool parse_tree(int argc, char** argv, TreeSettings& settings);
std::vector<TreeCase> cases_of(const TreeSettings& settings);
// Baselines of the case in the environment of the newest releases: those of the case, and the libraries that only this
// environment has. None if the case has none.
std::vector<std::string> newest_baselines(const TreeCase& one);

}  // namespace tutti::bench
