// Files of recorded events, in the layout of the published benchmark.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tutti/models/science/hep/event.h"
#include "tutti/train/data/generated_files.h"

namespace tutti::models::hep {

// Content of a file. Background events are those that pass the baseline, per slice.
struct FilePlan {
  int image_size = 64;
  std::int64_t signal = 0;
  std::vector<std::int64_t> background;  // by slice, in the order of slices()
};

struct DataPlan {
  int files = 0;  // of training and test events each
  FilePlan train, test;
  std::int64_t val_events = 0;
  int val_files = 0;
  FilePlan val;
};
DataPlan data_plan(std::int64_t train_events, std::int64_t test_events, std::int64_t val_events,
                   int image_size);

// Writes `train-<i>.h5`, `test-<i>.h5` and `val-<events>-<i>.h5` into `folder`: data (N,3,H,W) in GeV and tracks,
// label, weight (events expected in 36/fb), normweight (1), psr (passes the cuts), jz (slice), and the variables of the
// cuts: n_jets, mass_sum, delta_eta, leading_pt. Rank r of `ranks` generates every `ranks`-th file; existing files are
// kept. A file depends only on the plan and its number. `progress` is called after each file with the number done by
// this rank and its total.
void generate(const std::filesystem::path& folder, const DataPlan& plan, int rank, int ranks,
              const train::GenerateProgress& progress = {});

}  // namespace tutti::models::hep
