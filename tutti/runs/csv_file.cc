#include "tutti/runs/csv_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tutti/runs/training_log.h"

namespace tutti::runs {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> found;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) found.push_back(cell);
  return found;
}

std::int64_t step_in(const std::string& line) {
  return std::strtoll(line.c_str(), nullptr, 10);
}

// All lines of the file; the first is the header.
std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

void write_lines(const fs::path& path, const std::vector<std::string>& lines) {
  write_text(path, fmt::format("{}\n", fmt::join(lines, "\n")));
}

}  // namespace

void CsvFile::open(const StepRow& row) {
  std::ifstream before(path_);
  std::string head;
  columns_.clear();
  if (std::getline(before, head)) {
    columns_ = cells(head);
    columns_.erase(columns_.begin(),
                   columns_.begin() + std::min<std::ptrdiff_t>(2, std::ssize(columns_)));
    stream_.open(path_, std::ios::app);
    return;
  }
  for (const auto& [name, value] : row.metrics) columns_.push_back(name);
  stream_.open(path_, std::ios::app);
  stream_ << "step,epoch";
  for (const std::string& name : columns_) stream_ << ',' << name;
  stream_ << '\n';
}

void CsvFile::append(const StepRow& row) {
  if (!stream_.is_open()) open(row);
  std::string text = fmt::format("{},{:.5f}", row.step, row.epoch);
  for (const std::string& name : columns_) {
    const auto found = std::find_if(row.metrics.begin(), row.metrics.end(),
                                    [&](const auto& metric) { return metric.first == name; });
    text += fmt::format(",{:.7g}", found == row.metrics.end() ? 0 : found->second);
  }
  stream_ << text << std::endl;
}

void CsvFile::insert(const std::vector<StepRow>& rows) {
  if (rows.empty()) return;
  for (const StepRow& row : rows) append(row);
  stream_.close();
  std::vector<std::string> lines = lines_of(path_);
  std::stable_sort(lines.begin() + 1, lines.end(), [](const std::string& a, const std::string& b) {
    return step_in(a) < step_in(b);
  });
  write_lines(path_, lines);
}

Columns read_csv(const fs::path& path) {
  Columns columns;
  for (const std::string& line : lines_of(path)) {
    const std::vector<std::string> row = cells(line);
    if (columns.empty())
      for (const std::string& name : row) columns.push_back({name, {}});
    else if (row.size() == columns.size())
      for (std::size_t i = 0; i < row.size(); ++i)
        columns[i].second.push_back(std::strtod(row[i].c_str(), nullptr));
  }
  return columns;
}

void cut_rows(const fs::path& path, std::int64_t step) {
  std::vector<std::string> lines = lines_of(path);
  if (lines.empty()) return;
  lines.erase(std::remove_if(lines.begin() + 1, lines.end(),
                             [&](const std::string& line) { return step_in(line) >= step; }),
              lines.end());
  write_lines(path, lines);
}

}  // namespace tutti::runs
