// `tutti bench summary`: how much faster ours is in all rows of a file, as a table and as bars.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tutti/plot/bars.h"

namespace tutti::bench {

// One comparison: ours was `ratio` times as fast as the peer in this case.
struct Comparison {
  std::string bench, name, peer;
  double ratio = 0;
};

// The `ratio` rows of a file in docs/formats/bench.md's form, in its order. A comparison is named
// by the fields in which the rows of its benchmark differ. Rows without a peer, and all other
// rows, are passed over.
std::vector<Comparison> comparisons_of(const nlohmann::ordered_json& rows);

std::string text_of(const std::vector<Comparison>& comparisons);
plot::BarChart chart_of(const std::vector<Comparison>& comparisons, std::string machine);

// Prints the table of the file on the command line, draws the plot asked for. Returns the exit
// code. Throws ConfigError, IoError.
int run_summary(int argc, char** argv);

}  // namespace tutti::bench
