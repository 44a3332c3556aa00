// Shapes of data, estimators and options of `tutti bench shapes`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/row_file.h"

namespace tutti::bench {

struct DataShape {
  std::string_view name;  // also a function of shapes_data.py, which generates the data
  std::string_view what;  // description for the table
  std::int64_t rows = 0;  // at scale 1
};

std::span<const DataShape> data_shapes();
std::span<const std::string_view> estimators();

struct ShapeSettings {
  std::vector<std::string> shapes, estimators;  // names
  std::string systems = "all";                  // or "tutti"
  double scale = 1;                             // fraction of the rows
  double seconds = 20;                          // limit of the CPU time of one fit
  double target = 1e-4;                         // relative gap of the objective to reach
  std::uint64_t seed = 1;
  bool is_quick = false;
  RowFile row_file;

  std::int64_t rows_of(const DataShape& shape) const;
};

// Parses the command line. Returns false if it only printed the help. Throws ConfigError for invalid options.
bool parse_shapes(int argc, char** argv, ShapeSettings& settings);

}  // namespace tutti::bench
