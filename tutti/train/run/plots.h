// Charts of a training run.
#pragma once

#include <filesystem>
#include <vector>

namespace tutti::train {

// Each SVG of the folder as PNG beside it; none where rsvg-convert (Debian: librsvg2-bin) is not
// installed. Returns their paths.
std::vector<std::filesystem::path> write_pngs(const std::filesystem::path& folder);

// loss.svg, learning_rate.svg and samples_per_second.svg in `<folder>/plots` from metrics.csv,
// validation.svg of the metric by which the best weights are kept (from the second time on), and
// all pictures there as PNG; returns the paths.
std::vector<std::filesystem::path> plot_run(const std::filesystem::path& folder);

}  // namespace tutti::train
