// Charts of a training run.
#pragma once

#include <filesystem>
#include <vector>

namespace tutti::train {

// Converts each SVG of the directory to a PNG next to it, if rsvg-convert (Debian: librsvg2-bin) is installed. Returns
// their paths.
std::vector<std::filesystem::path> write_pngs(const std::filesystem::path& folder);

// Writes loss.svg, learning_rate.svg and samples_per_second.svg into `<folder>/plots` from metrics.csv, validation.svg
// for the metric that selects the best weights (if it was evaluated at least twice), and PNGs of all of them. Returns
// the paths.
std::vector<std::filesystem::path> plot_run(const std::filesystem::path& folder);

}  // namespace tutti::train
