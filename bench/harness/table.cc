#include "bench/harness/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

// Width of UTF-8 text in terminal columns: its code points.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool is_numeric(const std::string& cell) {
  return cell.empty() || cell == "-" || std::isdigit(static_cast<unsigned char>(cell.front()));
}

std::string line_of(const std::vector<std::string>& row, const std::vector<std::size_t>& widths,
                    const std::vector<bool>& right) {
  std::string line;
  for (std::size_t column = 0; column < row.size(); ++column) {
    std::string blank(widths[column] - width_of(row[column]), ' ');
    if (column) line += "  ";
    line += right[column] ? blank + row[column] : row[column] + blank;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

Table::Table(std::vector<std::string> header) {
  rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> cells) {
  if (cells.size() > rows_.front().size())
    throw ConfigError("DDL-8-13", "A table row has more cells than the table has columns.");
  cells.resize(rows_.front().size());
  rows_.push_back(std::move(cells));
}

void Table::add_gap() {
  rows_.emplace_back();
}

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  std::vector<bool> right(widths.size(), true);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t column = 0; column < rows_[r].size(); ++column) {
      widths[column] = std::max(widths[column], width_of(rows_[r][column]));
      if (r > 0 && !is_numeric(rows_[r][column])) right[column] = false;
    }
  }
  right.front() = false;
  std::string text;
  for (const auto& row : rows_) text += line_of(row, widths, right);
  return text;
}

std::string format_digits(double value) {
  if (value == 0) return "0";
  int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(std::fabs(value)))), 0, 6);
  return fmt::format("{:.{}f}", value, decimals);
}

std::string format_seconds(double seconds) {
  if (seconds < 1e-3) return format_digits(seconds * 1e6) + " us";
  if (seconds < 1) return format_digits(seconds * 1e3) + " ms";
  return format_digits(seconds) + " s";
}

}  // namespace tutti::bench
