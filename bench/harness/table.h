// Human-readable tables.
#pragma once

#include <string>
#include <vector>

namespace tutti::bench {

class Table {
 public:
  explicit Table(std::vector<std::string> header);

  // Missing cells at the end are empty; too many throw ConfigError.
  void add(std::vector<std::string> cells);
  // An empty line between groups of rows.
  void add_gap();

  // The first column and columns of text are left-aligned, columns of numbers right-aligned.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the header first; an empty row is a gap
};

// "0.29 us", "1.40 ms", "1.79 s": three digits and a unit that fits.
std::string format_seconds(double seconds);
// Three digits: "0.291", "12.3", "1230".
std::string format_digits(double value);

}  // namespace tutti::bench
