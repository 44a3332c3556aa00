// Weather snapshots with bounding boxes of their storms, in files of the published layout.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tutti/models/science/climate_detect/boxes.h"
#include "tutti/train/data/generated_files.h"
#include "tutti/train/data/h5.h"

namespace tutti::models::climate_detect {

// Order of the fields in these files, which is not that of climate-segment.
const std::array<climate::Field, climate::kFields>& file_order();
inline constexpr int kMostBoxes = 15;

struct FramePlan {
  int rows = 96, columns = 144;  // columns may be fewer than the globe has: the rest is cropped
  std::int64_t train = 0, test = 0, val = 0;
};

// Writes `train-<i>.h5`, `test-<i>.h5` and `val-<frames>-<i>.h5` of up to 20 frames each: images (N, 16, rows, columns)
// and boxes (N, 15, 5): ymin, xmin, ymax, xmax, class; unused rows are -1. Rank r of `ranks` generates every `ranks`-th
// file; existing files are kept. A file depends only on the plan and its number.
void generate(const std::filesystem::path& folder, const FramePlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress = {});

// The frames of the files `<folder>/<name>*.h5`.
class FrameFiles {
 public:
  // Throws IoError if there are none, or if one does not have the layout above.
  FrameFiles(const std::filesystem::path& folder, const std::string& name);

  std::int64_t size() const { return static_cast<std::int64_t>(boxes_.size()); }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  // (16, rows, columns)
  void image(std::int64_t index, std::span<float> values) const;
  const std::vector<Labelled>& boxes(std::int64_t index) const {
    return boxes_[static_cast<std::size_t>(index)];
  }
  // Mean and standard deviation of each field over the first frames.
  void scale(std::span<float> mean, std::span<float> deviation) const;

 private:
  struct Location {
    std::size_t file;
    std::int64_t row;
  };
  std::vector<train::H5File> files_;
  std::vector<Location> locations_;
  std::vector<std::vector<Labelled>> boxes_;
  int rows_ = 0, columns_ = 0;
};

}  // namespace tutti::models::climate_detect
