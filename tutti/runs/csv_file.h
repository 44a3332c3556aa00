// Files of one row per step: metrics.csv and validation.csv.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace tutti::runs {

using Metrics = std::vector<std::pair<std::string, double>>;  // in the order they are shown

struct StepRow {
  std::int64_t step = 0;
  double epoch = 0;
  Metrics metrics = {};
};

class CsvFile {
 public:
  explicit CsvFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Adds a row at the end. The columns are those of the first row of the file; what a row does not
  // have is 0 there, and what has no column is left out.
  void append(const StepRow& row);
  // Adds rows, then sorts all by their steps.
  void insert(const std::vector<StepRow>& rows);
  bool is_open() const { return stream_.is_open(); }

 private:
  void open(const StepRow& row);

  std::filesystem::path path_;
  std::ofstream stream_;
  std::vector<std::string> columns_;  // behind step and epoch
};

using Columns = std::vector<std::pair<std::string, std::vector<double>>>;  // in their order
// Rows that are not whole, as a killed run leaves one, are left out.
Columns read_csv(const std::filesystem::path& path);
// Removes the rows from `step` on.
void cut_rows(const std::filesystem::path& path, std::int64_t step);

}  // namespace tutti::runs
