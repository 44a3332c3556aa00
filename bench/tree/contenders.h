// Runs of Tutti and the baselines, each fitting the same case on the same data.
#pragma once

#include <filesystem>
#include <string>

#include "bench/harness/interrupt.h"
#include "bench/tree/cases.h"
#include "bench/tree/decays.h"

namespace tutti::bench {

struct TreeData {
  Decays train, test;
};

TreeResult measure_tutti(const TreeCase& one, const TreeSettings& settings, const TreeData& data);

// Writes the input of the baselines: plain arrays x, y, x_test, y_test. Throws IoError (DDL-8-12).
void write_data(const TreeData& data, const std::filesystem::path& folder);
// Fits with the libraries of the Python `python`. The name of the system includes the release.
// Throws CommError with the last lines of its output if the baseline fails, TimeoutError if it takes too long, and
// Interrupted on Ctrl-C.
TreeResult measure_baseline(const std::string& python, const std::string& system,
                            const TreeCase& one, const TreeSettings& settings,
                            const std::filesystem::path& folder, const InterruptScope& interrupt);

}  // namespace tutti::bench
