// Common format of the results of all benchmarks; docs/formats/bench.md specifies the file.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/machine.h"

namespace tutti::bench {

// One result. `fields` is the case it belongs to ("ranks": 2, "bytes": 1024, ...), plain values only.
struct Row {
  std::string bench, system, metric;
  double value = 0;
  std::string unit;
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
};

// Names the system that a `ratio` row compares Tutti with: the field "baseline", and "peer", its deprecated name.
void set_baseline(Row& row, const std::string& system);

// The row as one flat JSON object, with the machine as its last field. Throws ConfigError if the value is not finite,
// or if a field is not plain or has one of the five names above.
nlohmann::ordered_json to_json(const Row& row, const Machine& machine);

enum class FileMode { kReplace, kAppend };

// Writes a JSON array, one row per line; kAppend keeps existing rows. The file is replaced atomically. Throws IoError
// if it cannot be written, or read in order to append.
void write_rows(const std::filesystem::path& path, std::span<const Row> rows,
                const Machine& machine, FileMode mode = FileMode::kReplace);

// Reads a file written by write_rows. Throws IoError if it does not exist or has no rows.
nlohmann::ordered_json read_rows(const std::filesystem::path& path);

// Writes a plot. Throws IoError if it cannot be written.
void write_plot(const std::filesystem::path& path, const std::string& svg);

}  // namespace tutti::bench
