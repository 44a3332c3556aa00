// `tutti bench summary`: speed-ups of Tutti in all rows of a file, as a table and as bars.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tutti/plot/bars.h"

namespace tutti::bench {

// One comparison: Tutti was `ratio` times as fast as the baseline in this case.
struct Comparison {
  std::string bench, name, baseline;
  double ratio = 0;
};

// The `ratio` rows of a file in the format of docs/formats/bench.md, in its order. A comparison is named by the fields
// in which the rows of its benchmark differ. Rows without a baseline, and all other rows, are skipped.
std::vector<Comparison> comparisons_of(const nlohmann::ordered_json& rows);

std::string text_of(const std::vector<Comparison>& comparisons);
plot::BarChart chart_of(const std::vector<Comparison>& comparisons, std::string machine);

// Prints the table of the file on the command line and draws the requested plot. Returns the exit code. Throws
// ConfigError, IoError.
int run_summary(int argc, char** argv);

}  // namespace tutti::bench
