// CSV files with one row per step: metrics.csv and validation.csv.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace tutti::runs {

using Metrics = std::vector<std::pair<std::string, double>>;  // name and value, in display order

struct StepRow {
  std::int64_t step = 0;
  double epoch = 0;
  Metrics metrics = {};
};

// Appends rows to a file with the columns step, epoch and one per metric. Opened, or created, by the first row. Not
// thread-safe.
class CsvFile {
 public:
  explicit CsvFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Appends a row and flushes it to the page cache. An existing file keeps its columns; a new file gets those of its
  // first row. Metrics that the row does not have are written as 0; metrics without a column are dropped. Write errors,
  // such as a full disk, are ignored: training continues without the row.
  void append(const StepRow& row);
  // Adds rows and replaces the file with all rows sorted by step. Throws IoError (DDL-7-64) if it cannot be written.
  void insert(const std::vector<StepRow>& rows);
  bool is_open() const { return stream_.is_open(); }

 private:
  void open(const StepRow& row);

  std::filesystem::path path_;
  std::ofstream stream_;
  std::vector<std::string> columns_;  // after step and epoch
};

using Columns = std::vector<std::pair<std::string, std::vector<double>>>;  // in file order
// Reads all columns; empty if the file is missing. Incomplete rows, such as the last one of a killed run, are skipped.
Columns read_csv(const std::filesystem::path& path);
// Removes the rows of `step` and all later steps. Throws IoError (DDL-7-64) if the file cannot be written.
void cut_rows(const std::filesystem::path& path, std::int64_t step);

}  // namespace tutti::runs
