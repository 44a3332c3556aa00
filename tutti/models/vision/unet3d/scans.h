// Scans in files, generated or published.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tutti/models/vision/unet3d/head.h"
#include "tutti/train/data/generated_files.h"

namespace tutti::models::unet3d {

struct ScanPlan {
  int side = 48;
  std::int64_t train = 0, test = 0, val = 0;
};

// Writes `train-<i>.h5`, `test-<i>.h5` and `val-<scans>-<i>.h5`, one scan each: data (1,4,S,S,S) and truth (1,1,S,S,S).
// Rank r of `ranks` generates every `ranks`-th file; existing files are kept. A file depends only on the side and its
// number. `progress` is called after each file with the number done by this rank and its total.
void generate(const std::filesystem::path& folder, const ScanPlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress = {});

// The scans of a directory, all with the same side, as
// - files `<name>*.h5` with any number of scans: data (N,4,S,S,S) in the order t1, t1ce, flair, t2,
//  and truth (N,1,S,S,S) with the labels 0, 1, 2 and 4, as 3DUnetCNN stores the public data sets;
// - or `<name>`, the directory of a subject with NIfTI files, or a directory of such directories.
class ScanFiles {
 public:
  // Throws IoError if there are none, or if one does not fit. Without `needs_truth`, missing labels are 0.
  ScanFiles(const std::filesystem::path& folder, const std::string& name, int side,
            bool needs_truth = true);

  std::int64_t size() const { return static_cast<std::int64_t>(locations_.size()); }
  // Opens the files at each call. Throws IoError.
  Scan read(std::int64_t index) const;

 private:
  struct Location {
    std::filesystem::path path;
    std::int64_t row;  // of a file; kSubject for a directory
  };
  static constexpr std::int64_t kSubject = -1;
  void add_file(const std::filesystem::path& path);

  std::vector<Location> locations_;
  int side_;
  bool needs_truth_;
};

}  // namespace tutti::models::unet3d
