// Files of simulated showers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tutti/train/data/generated_files.h"
#include "tutti/train/data/h5.h"

namespace tutti::models::gan3d {

struct DataPlan {
  std::int64_t train_showers = 0, test_showers = 0, val_showers = 0;
  std::int64_t per_file() const;
};

// Writes `train-<i>.h5`, `test-<i>.h5` and `val-<showers>-<i>.h5` into `folder`, with energies distributed uniformly
// from 10 to 510 GeV. Rank r of `ranks` generates every `ranks`-th file; existing files are kept. A file depends only
// on the plan and its number. `progress` is called after each file with the number done by this rank and its total.
void generate(const std::filesystem::path& folder, const DataPlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress = {});

// Appends showers to a file in the layout of the published data set: `ECAL` (N,25,25,25) in GeV, `target` (N,2): the
// particle (11, an electron) and its energy in GeV.
void add_showers(train::H5File& file, std::span<const double> energies,
                 std::span<const float> cells);

}  // namespace tutti::models::gan3d
