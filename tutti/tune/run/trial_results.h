// Results that a trial writes: metrics by step, from several kinds of files.
//
// | file in the directory of the trial | content |
// |---|---|
// | results.jsonl | one JSON object per line: "step" and metrics |
// | val_dict_list.json | a JSON list of such objects, replaced as a whole |
// | output.log | standard output: JSON objects as above, or metrics as "name=value" or "name: value" |
// | <run>/validation.csv, <run>/result.json | the run directory of `tutti train` |
//
// Files may appear, grow and be replaced while the trial runs. Incomplete last lines are left for the next call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tutti/tune/trial.h"

namespace tutti::tune {

inline constexpr const char* kResultsFile = "results.jsonl";
inline constexpr const char* kResultListFile = "val_dict_list.json";
inline constexpr const char* kOutputFile = "output.log";

using Metrics = std::map<std::string, double>;

// Reads the results of one trial repeatedly. Not thread-safe.
class TrialResults {
 public:
  // `metrics` are the objectives; an empty name stands for the first metric of a run directory.
  TrialResults(std::filesystem::path folder, std::vector<std::string> metrics);

  // Returns what is new: values of the first objective by step.
  std::vector<Report> poll();
  // After the trial has ended and the last poll(): the last value of each objective; nullopt: one never arrived.
  std::optional<std::vector<double>> final_values();
  // All metrics that have been seen, for error messages.
  std::vector<std::string> seen_metrics() const;
  // The run directory of `tutti train` in the directory of the trial; empty: none.
  std::filesystem::path run() const;

 private:
  void read_lines(const char* file, std::vector<Report>& reports);
  void read_list(std::vector<Report>& reports);
  void read_run(std::vector<Report>& reports);
  void read_run_result();
  void take_line(const std::string& line, bool is_json_only, std::vector<Report>& reports);
  void take(std::optional<std::int64_t> step, const Metrics& metrics, std::vector<Report>& reports);

  std::filesystem::path folder_;
  std::vector<std::string> names_;
  std::map<std::string, std::int64_t> positions_;  // bytes read of each file
  std::size_t list_rows_ = 0, run_rows_ = 0;       // rows taken
  std::int64_t next_step_ = 0;                     // of results without a step
  Metrics last_;                                   // last value of each metric
};

}  // namespace tutti::tune
