// The folder of a training run: options, metrics, results. docs/formats/run-folder.md describes the
// files.
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

// A new folder `<runs>/<case>-<date>-<time>`, made by this call. Throws IoError when it cannot.
std::filesystem::path new_run_folder(const std::filesystem::path& runs,
                                     const std::string& case_name);

// Makes this process, and those that it starts, the only ones that train the run of `folder`.
// Throws IoError DDL-7-97, which names the process, when another one does.
os::FileLock lock_run(const std::filesystem::path& folder);

// Everything that rank 0 writes while it trains. Other ranks only have events.
class RunLog {
 public:
  RunLog(std::filesystem::path folder, int rank);

  const std::filesystem::path& folder() const { return folder_; }
  // One row of metrics.csv and one point per metric in TensorBoard. Columns are those of the first
  // row; a resumed run goes on at the end of the file and cuts off what it will do again.
  void step(std::int64_t step, double epoch, const Metrics& metrics);
  // The same of steps that others took meanwhile: rows are sorted in.
  void steps_of_others(const std::vector<StepRow>& rows);
  // One row of validation.csv, and an event and a point in TensorBoard per metric.
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

// metrics.csv as columns by name; empty when there is none.
std::map<std::string, std::vector<double>> read_metrics(const std::filesystem::path& folder);
// Removes the rows of metrics.csv and validation.csv from `step` on: what a resumed run will do
// again.
void cut_metrics(const std::filesystem::path& folder, std::int64_t step);

// Removes the folder of a run that ended before its first step and left nothing to read but what it
// was asked to do, and with which network.
void forget_if_empty(const std::filesystem::path& folder);

// Makes the folder that `file` is to stand in.
void make_parent(const std::filesystem::path& file);
// Writes the file whole or not at all, in a folder that is made if need be. Throws IoError with the
// system's reason.
void write_text(const std::filesystem::path& file, const std::string& text);

}  // namespace tutti::runs
