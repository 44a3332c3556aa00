// What is measured: one kind of model on one amount of data.
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
  std::vector<std::string> peers;
  int min_samples_leaf = 1;  // at least, of the trees and forests of all systems
};

struct TreeSettings {
  std::vector<std::string> cases;  // names
  std::vector<std::string> peers;
  std::int64_t rows = 0;  // 0: those of each case
  std::int64_t test_rows = 200'000;
  int min_samples_leaf = 1;
  int threads = 2, repeats = 3;
  RowFile row_file;
  bool is_quick = false;
  double timeout = 600;
};

// What one system needed and how good its answer is.
struct TreeResult {
  std::string system;
  std::vector<double> fit_seconds;  // with binning or conversion
  double binning_seconds = 0;       // of these, in the median, where the system tells
  double predict_seconds = 0;       // all test rows
  double row_microseconds = 0;      // one row at a time; 0: not measured
  double visits = 0;                // rows x columns that one tree's histograms need: not those of
                                    // the larger children, nor of leaves at the greatest depth
  double log_loss = 0, auc = 0, accuracy = 0;
};

// Reads the command line. Returns false when only help was asked for.
bool parse_tree(int argc, char** argv, TreeSettings& settings);
std::vector<TreeCase> cases_of(const TreeSettings& settings);

}  // namespace tutti::bench
