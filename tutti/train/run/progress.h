// Progress output of a run.
#pragma once

#include <cstdint>
#include <string>

#include "tutti/runs/training_log.h"

namespace tutti::train {

using runs::Metrics;

struct ProgressState {
  std::int64_t step = 0, total_steps = 0;
  double epoch = 0, epochs = 0;
  double loss = 0;
  double samples_per_second = 0;  // of all ranks
  double flops_per_second = 0;    // of all ranks; 0: unknown
  double peak_flops = 0;          // of the CPUs in use; 0: unknown
  double exposed_share = 0;       // fraction of the time spent waiting for other ranks
  double seconds_left = 0;
};

// "epoch 1.25/4 step 320/1024 loss 0.1832 1210 samples/s 153 GFLOP/s (12 %) comm 0.8 % 2:05 left"
std::string progress_text(const ProgressState& state);
// "epoch 3:  mean_iou 0.4031  iou_background 0.98  (best so far)": the first four metrics. The first one selects the
// best weights.
std::string evaluation_text(const std::string& of, const Metrics& metrics, bool is_best);
// "epoch 3:  40 of 400 samples evaluated, 12:30 left"
std::string evaluation_progress_text(const std::string& of, std::int64_t done, std::int64_t all,
                                     double seconds);

// Size of a run before it starts.
struct RunPlan {
  std::int64_t parameters = 0, samples = 0, steps = 0;
  double step_samples = 1, flops_per_sample = 0;
  double speed = 0;  // peak speed of all ranks, operations per second; 0: unknown
};
// One line about the run, and a second one about the time if that is more than a day.
std::string plan_text(const RunPlan& plan);
// "0:07", "12:34", "3:04:05", "12 days", "3.4 years"
std::string duration_text(double seconds);

// On a terminal, one line that is overwritten; elsewhere, one line at intervals.
class ProgressLine {
 public:
  explicit ProgressLine(bool is_shown);
  ~ProgressLine() { finish(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text);
  // Ends the line, so that other output can follow.
  void finish();
  // Erases the line.
  void clear();

 private:
  bool is_shown_, is_terminal_, is_open_ = false;
  std::int64_t next_ns_ = 0;
  std::string last_;
};

}  // namespace tutti::train
