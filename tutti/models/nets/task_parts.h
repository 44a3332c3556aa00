// Common functions of the tasks of all cases: generated data in the cache, batches of samples, metrics by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/core/options.h"
#include "tutti/train/data/generated_files.h"
#include "tutti/train/task.h"

namespace tutti::models {

// The directory `name` in the user's cache, which keeps generated data for later runs.
std::filesystem::path data_folder(const std::string& name);

// Generates the part of one rank of `ranks`.
using Generate = std::function<void(const std::filesystem::path& folder, int rank, int ranks,
                                    const train::GenerateProgress& progress)>;

// `generate` of a case with its plan.
template <class Plan>
Generate generator(void (*generate)(const std::filesystem::path&, const Plan&, int, int,
                                    const train::GenerateProgress&),
                   Plan plan) {
  return [=](const std::filesystem::path& folder, int rank, int ranks,
             const train::GenerateProgress& progress) {
    generate(folder, plan, rank, ranks, progress);
  };
}

struct SplitSizes {
  std::int64_t train = 0, test = 0, val = 0;  // samples
};
// The options train_<unit>, test_<unit> and val_<unit>.
SplitSizes split_sizes(const Options& options, const std::string& unit);

struct GeneratedData {
  std::string name;      // of the directory in the cache
  std::string what;      // for the progress line
  std::int64_t val = 0;  // validation samples
  Generate generate;
  double bytes = 0;      // memory for one sample while it is generated; 0: little
  SplitSizes most = {};  // samples to use of what the directory has; 0: all
};

struct DataLocation {
  std::filesystem::path folder;
  std::string val_prefix = "val";    // of the files with validation samples
  std::int64_t train = 0, test = 0;  // samples to use; 0: all
};
// The directory of the option `data` or, if that is empty, one in the cache that all ranks fill with generated data;
// rank 0 shows the progress. If memory is short, only as many ranks of a host generate as fit. Throws MemoryError if
// not even one fits. Collective.
DataLocation locate_data(const Options& options, comm::Communicator& communicator,
                         const std::function<GeneratedData()>& generated);

// Number of ranks of a host, at most `ranks`, that fit with `bytes` of memory each.
int ranks_that_fit(int ranks, double bytes, double free);

// Memory of a rank for the cache of samples: the option `cache_bytes`, or its share of a quarter of the free memory.
double cache_bytes(const Options& options, const comm::Communicator& communicator);

// The option `seed`.
std::uint64_t seed_of(const Options& options);

// Peak memory of a step for each output value of the layers, in bytes; measured.
struct ValueBytes {
  double f32 = 4;
  double bf16 = 4;  // with AMX; without it bf16 is computed in f32
  double at(torch::ScalarType dtype) const;
};

// `available`, but at most `most` if that is above 0.
std::int64_t limited(std::int64_t available, std::int64_t most);

// Images of this side in a batch for evaluation: 64 of 64 x 64 or smaller, and the same number of pixels of larger
// ones.
std::int64_t eval_batch(std::int64_t side);

// Calls use(first, indices) for every `parts`-th batch of [0, count) from batch `part` on.
template <class Use>
void for_batches(std::int64_t count, std::int64_t batch, int part, int parts, Use use) {
  for (std::int64_t first = part * batch; first < count; first += parts * batch) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(std::min(batch, count - first)));
    std::iota(indices.begin(), indices.end(), first);
    use(first, std::span<const std::int64_t>(indices));
  }
}

// The value of that name; 0 if there is none.
double value_of(const train::Metrics& metrics, std::string_view name);

}  // namespace tutti::models
