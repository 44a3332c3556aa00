// Files of synthetic universes.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "tutti/core/options.h"
#include "tutti/models/science/cosmoflow/case.h"
#include "tutti/models/science/cosmoflow/universe.h"
#include "tutti/train/data/generated_files.h"

namespace tutti::models::cosmoflow {

struct DataPlan {
  Variant variant = Variant::kPaper;
  UniversePlan universe;
  int cuts = 1;  // samples along a side
  std::int64_t train_universes = 0, test_universes = 0, val_universes = 0;
  int per_file() const;          // universes
  double bytes_to_make() const;  // memory to generate one universe
};

// The plan for the options of the case. `mlperf` has redshifts 0, 0.5, 1.5 and 3 as channels, and boxes that scale with
// h.
DataPlan data_plan(const Options& options);

// Writes `train-<i>.h5`, `test-<i>.h5` and `val-<universes>-<i>.h5` into `folder`: `volumes` (N,C,S,S,S), density over
// its mean, rounded to the 8 bits of bf16 so that it compresses well, and `physPar` (N,P). Rank r of `ranks` generates
// every `ranks`-th file; existing files are kept. A file depends only on the plan and its number. `progress` is called
// after each file with the number done by this rank and its total.
void generate(const std::filesystem::path& folder, const DataPlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress = {});

// Splits a cube of `side` cells into cuts^3 cubes; calls visit(values) for each.
void each_subvolume(const std::vector<std::vector<float>>& grids, int side, int cuts,
                    const std::function<void(const std::vector<float>&)>& visit);

}  // namespace tutti::models::cosmoflow
