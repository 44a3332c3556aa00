// Text and plots of studies for `tutti tune`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tutti/tune/history.h"
#include "tutti/tune/run/study_spec.h"

namespace tutti::app {

// "learning_rate=0.003 optimizer=adam".
std::string parameters_text(const tune::Trial& trial);
// "0.25", or "0.25, 3" of several objectives; empty without values.
std::string values_text(const tune::Trial& trial);
// The best trial, or the Pareto front; one line per trial.
std::string best_text(const tune::History& history);
// Counts of trials by state: "12 complete, 3 pruned".
std::string counts_text(const tune::History& history);
// A table of all trials.
std::string table_text(const tune::History& history);
// All trials as JSON (docs/formats/study.md).
std::string study_json(const std::string& name, const tune::History& history);

// Writes plots/history.svg, plots/importance.svg, and plots/steps.svg if trials report steps; returns their paths.
// Throws IoError if a file cannot be written.
std::vector<std::filesystem::path> plot_study(const std::filesystem::path& folder,
                                              const std::string& name,
                                              const tune::History& history);

}  // namespace tutti::app
