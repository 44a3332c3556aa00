// Run directory of a training run: creation, lock, metrics. docs/formats/run-folder.md describes the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tutti/os/file_lock.h"
#include "tutti/runs/csv_file.h"
#include "tutti/runs/events.h"
#include "tutti/runs/schema.h"
#include "tutti/runs/tensorboard.h"

namespace tutti::runs {

// Creates a new directory `<runs>/<case>-<date>-<time>`, with a number appended if that exists, and returns its path.
// Throws IoError (DDL-7-63) if it cannot be created, or std::filesystem::filesystem_error for `runs`.
std::filesystem::path new_run_folder(const std::filesystem::path& runs,
                                     const std::string& case_name);

// Locks the run in `folder`: only this process and the ranks that it starts may train it. The lock is held until the
// returned object is destroyed and these ranks have exited. Throws IoError (DDL-7-97), which names the holder, if
// another process holds the lock.
os::FileLock lock_run(const std::filesystem::path& folder);

// Writer for the metrics and events of a training run. Rank 0 writes metrics.csv, validation.csv, TensorBoard and its
// events. On other ranks only events() writes; the other functions do nothing. Failed writes of rows are ignored. Only
// events() is thread-safe.
class RunLog {
 public:
  RunLog(std::filesystem::path folder, int rank);

  const std::filesystem::path& folder() const { return folder_; }
  // Appends a row to metrics.csv, and a scalar per metric to TensorBoard. The columns are those of the first row.
  // Before a resumed run appends, call cut_metrics() to remove the rows of the steps that it repeats.
  void step(std::int64_t step, double epoch, const Metrics& metrics);
  // Same, for steps that other groups of ranks took meanwhile; the rows are inserted in step order. Throws IoError
  // (DDL-7-64) if metrics.csv cannot be written.
  void steps_of_others(const std::vector<StepRow>& rows);
  // Appends a row to validation.csv, and an event and a TensorBoard scalar per metric.
  void validation(std::int64_t step, double epoch, const Metrics& metrics);
  EventLog& events() { return events_; }

 private:
  void draw(const StepRow& row);
  std::filesystem::path folder_;
  bool writes_;
  EventLog events_;
  CsvFile steps_, validations_;
  std::unique_ptr<TensorboardFile> tensorboard_;
};

// Columns of metrics.csv by name; empty if the file is missing.
std::map<std::string, std::vector<double>> read_metrics(const std::filesystem::path& folder);
// Removes the rows of `step` and later from metrics.csv and validation.csv, because a resumed run repeats these steps.
void cut_metrics(const std::filesystem::path& folder, std::int64_t step);

// Removes the directory of a run that ended before its first step. Such a directory has no content except the
// configuration, the lock, the user's model and TensorBoard files.
void forget_if_empty(const std::filesystem::path& folder);

// Creates the directory of `file` if it is missing. Throws std::filesystem::filesystem_error.
void make_parent(const std::filesystem::path& file);
// Replaces `file` atomically; creates its directory if it is missing. Throws IoError (DDL-7-64) with the reason of the
// system. One process at a time may write a file.
void write_text(const std::filesystem::path& file, const std::string& text);

}  // namespace tutti::runs
