// Weather snapshots with their labels, in files of the published layout, one snapshot each.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tutti/models/science/climate/labels.h"
#include "tutti/train/data/generated_files.h"

namespace tutti::models::climate_segment {

using climate::Grid;

struct FramePlan {
  Grid grid;
  std::int64_t train = 0, test = 0, val = 0;
};

// Writes `train-<i>.h5`, `test-<i>.h5` and `val-<frames>-<i>.h5`: climate/data (rows, columns, 16), climate/labels_0
// and labels_1 (rows, columns) with the two moisture thresholds, climate/stats (16, 4): mean, maximum, minimum and
// standard deviation of each field, and climate/truth: the generated storms. Rank r of `ranks` generates every
// `ranks`-th file; existing files are kept. A file depends only on the grid and its number.
void generate(const std::filesystem::path& folder, const FramePlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress = {});

struct ChannelScale {
  std::array<float, climate::kFields> mean{}, deviation{};
};

// The files of `<folder>/<name>*.h5`, or else `<folder>/<name>/*.h5`, or the one file of that name.
class FrameFiles {
 public:
  // Throws IoError if there are none, or if the first does not have the layout above.
  FrameFiles(const std::filesystem::path& folder, const std::string& name);

  std::int64_t size() const { return static_cast<std::int64_t>(paths_.size()); }
  const Grid& grid() const { return grid_; }
  // Whether the first file has the generated storms; published files have labels only.
  bool has_truth() const { return has_truth_; }
  // Fields with the 16 values of a pixel contiguous; labels 0 to 2. Opens the file at each call. Throws IoError.
  void read(std::int64_t index, std::span<float> fields, std::span<std::uint8_t> labels) const;
  // Storms as generated; empty if the file does not have them.
  std::vector<std::uint8_t> truth(std::int64_t index) const;
  // Over the first files, from climate/stats.
  ChannelScale scale() const;
  // Fraction of each class in the labels of the first files.
  std::array<double, climate::kClasses> frequencies() const;

 private:
  std::vector<std::filesystem::path> paths_;
  Grid grid_;
  bool has_truth_ = false;
};

}  // namespace tutti::models::climate_segment
