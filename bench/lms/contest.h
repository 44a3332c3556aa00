// Measurements of `tutti bench lms`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/harness/row.h"
#include "bench/harness/row_file.h"
#include "bench/lms/worker.h"
#include "tutti/lms/pager/measure_tier.h"

namespace tutti::bench {

struct LmsSettings {
  std::string case_name = "resnet";
  std::vector<std::string> options = {};  // of the case
  int size = 0;                           // of the input; 0: the larger recorded one of the case
  std::vector<double> fractions = {1, 0.75, 0.5,
                                   0.35};  // budgets as fractions of the peak without LMS
  int steps = 6;                           // per budget; the first three are not measured
  std::string directory = {};              // of the swap file; empty: TMPDIR, else /var/tmp
  std::string plot = {};                   // SVG file; empty: none
  RowFile row_file = {};
};

// One budget.
struct LmsResult {
  std::int64_t budget = 0;  // bytes
  double fraction = 0;      // of the peak without LMS
  StepRun run;
  double predicted_seconds = 0;
  bool is_identical = false;  // losses and gradients are those of the run without LMS, bit for bit
};

struct LmsOutcome {
  int size = 0;
  std::int64_t peak_without = 0, minimum = 0;  // bytes
  std::string minimum_operator;
  double seconds_without = 0;
  lms::DiskBandwidth disk;
  // Write and read bandwidth with which all transfers at the smallest measured budget fit into the forward and the
  // backward pass.
  lms::DiskBandwidth break_even;
  std::vector<LmsResult> results;
  std::vector<std::pair<std::string, StepRun>> baselines;  // memory-saving methods of PyTorch
  std::vector<std::string> failures;
};

LmsOutcome run_lms_contest(const LmsSettings& settings);

std::vector<Row> rows_of(const LmsSettings& settings, const LmsOutcome& outcome);
std::string text_of(const LmsSettings& settings, const LmsOutcome& outcome);
std::string svg_of(const LmsSettings& settings, const LmsOutcome& outcome);

}  // namespace tutti::bench
