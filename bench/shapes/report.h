// Table and rows from the results of the worker of `tutti bench shapes`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "bench/harness/row.h"

namespace tutti::bench {

// One system on one cell, with one setting.
struct ShapeFit {
  std::string system = {}, settings = {}, solver = {}, why = {};
  double cpu = 0, wall = 0;  // seconds, medians
  int samples = 0;
  double objective = std::numeric_limits<double>::quiet_NaN();  // linear models
  double score = std::numeric_limits<double>::quiet_NaN();      // trees
};

// One estimator on one shape of data.
struct ShapeCell {
  std::string shape = {}, estimator = {};
  std::int64_t rows = 0, columns = 0, entries = 0;
  double target = 1e-4, limit = 20;
  std::vector<ShapeFit> fits = {};
  std::vector<std::string> limited = {};  // systems with a fit that exceeded the limit
  std::vector<std::string> errors = {};

  double gap(const ShapeFit& fit) const;  // NaN for trees
  // The fastest fit of Tutti, or of the other systems, whose result is good enough; null: none. A score is good enough
  // if it is at most kScoreMargin below Tutti's.
  const ShapeFit* ours() const;
  const ShapeFit* best_baseline() const;
  // CPU time of the best baseline divided by Tutti's. If all baselines exceed the limit, it is the limit divided by
  // Tutti's; if Tutti exceeds it, the best baseline's divided by the limit. 0: no comparison.
  double ratio() const;
  bool is_good(const ShapeFit& fit) const;

 private:
  const ShapeFit* fastest(bool is_ours) const;
};

inline constexpr double kScoreMargin = 0.01;

// Reads the results of one shape: one line of JSON per fit. An incomplete last line is ignored. Throws IoError on
// anything else.
std::vector<ShapeCell> read_cells(const std::filesystem::path& path, const ShapeCell& common);

std::vector<Row> rows_of(const ShapeCell& cell);
// A table with one line per cell, the summary, and the cells in which another library is faster.
std::string text_of(const std::vector<ShapeCell>& cells);

}  // namespace tutti::bench
