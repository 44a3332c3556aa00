// Table and rows from the results of the worker.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/harness/row.h"

namespace tutti::bench {

// One fit of one system with one setting.
struct GlmFit {
  std::string system, settings;
  double seconds = 0, objective = 0;
  double passes = 0;     // over the data; 0: unknown
  double computing = 0;  // of the seconds: the solver alone, without data conversion; 0: unknown
  // Seconds of Tutti in memory, measured alternately with this fit; 0: not measured.
  double in_memory = 0;
};

// Name of Tutti with the rows in a file and a memory limit. It is compared with Tutti in memory and is not a baseline.
inline constexpr const char* kFromFile = "tutti from a file";

// Reads one line of JSON per fit. Throws IoError on anything else.
std::vector<GlmFit> read_fits(const std::filesystem::path& path);

struct GlmOutcome {
  std::string name, what;
  std::int64_t rows = 0, columns = 0, entries = 0;
  std::int64_t bytes = 0;  // read in one pass
  double bandwidth = 0;    // of the memory, in bytes per second
  double target = 0;       // relative gap to reach
  std::vector<GlmFit> fits;

  double best() const;  // the smallest objective of all fits
  double gap(const GlmFit& fit) const { return (fit.objective - best()) / best(); }
  // The fastest fit of the system within the target, or null.
  const GlmFit* first_within(const std::string& system) const;
  std::vector<std::string> systems() const;
};

std::vector<Row> rows_of(const GlmOutcome& outcome);
std::string text_of(const GlmOutcome& outcome);

}  // namespace tutti::bench
