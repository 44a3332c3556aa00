// From the fits of the worker to rows and a table.
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
  double passes = 0;  // over the data; 0 where it is not known
  double computing =
      0;  // of the seconds: the solver alone, without taking the data over; 0: not known
  double in_memory = 0;  // seconds of ours in memory, measured in turn with this; 0: not measured
};

// The system that is ours, with the rows in a file and a limit of memory: no peer, but a price.
inline constexpr const char* kFromFile = "tutti from a file";

// One line of JSON per fit. Throws IoError on anything else.
std::vector<GlmFit> read_fits(const std::filesystem::path& path);

struct GlmOutcome {
  std::string name, what;
  std::int64_t rows = 0, columns = 0, entries = 0;
  std::int64_t bytes = 0;  // that a pass has to read
  double bandwidth = 0;    // of the memory, bytes per second
  double target = 0;       // relative gap that counts
  std::vector<GlmFit> fits;

  double best() const;  // the smallest objective of all
  double gap(const GlmFit& fit) const { return (fit.objective - best()) / best(); }
  // The quickest fit of the system that is within the target, or null.
  const GlmFit* first_within(const std::string& system) const;
  std::vector<std::string> systems() const;
};

std::vector<Row> rows_of(const GlmOutcome& outcome);
std::string text_of(const GlmOutcome& outcome);

}  // namespace tutti::bench
