// What the tasks of all cases do alike: data that are made once and kept, the samples they are
// judged on, batches of them, values by name.
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
#include "tutti/train/data/made_files.h"
#include "tutti/train/task.h"

namespace tutti::models {

// The folder `name` in the user's cache: generated data are kept there for the next run of the same
// size.
std::filesystem::path data_folder(const std::string& name);

// Makes the part of one rank of `ranks`.
using Generate = std::function<void(const std::filesystem::path& folder, int rank, int ranks,
                                    const train::MakeProgress& progress)>;
// The folder `name` of the cache, filled by all ranks; rank 0 shows how far `what` are. Where a
// rank takes `bytes` of memory for it, only as many ranks of a host work as there is memory for.
// Throws MemoryError when there is not enough for one. Collective.
std::filesystem::path make_data(const std::string& name, std::string_view what,
                                comm::Communicator& communicator, const Generate& generate,
                                double bytes = 0);

// How many ranks of a host, of `ranks`, can take `bytes` of memory each.
int ranks_that_fit(int ranks, double bytes, double free);

// Memory of a rank for samples that were read: what the option `keep_bytes` says, or its share of a
// quarter of what is free.
double keep_bytes(const Options& options, const comm::Communicator& communicator);

// Memory that a step takes at its worst moment for each value that the layers give, in bytes;
// measured.
struct ValueBytes {
  double f32 = 4;
  double bf16 = 4;  // on matrix units; without them it is computed in f32
  double at(torch::ScalarType dtype) const;
};

// `available`, but no more than `most` where that is above 0.
std::int64_t limited(std::int64_t available, std::int64_t most);

// Whether the folder has samples to choose the best weights by: files that begin with `prefix`,
// those of train::val_prefix where a case has made its data.
bool has_validation_files(const std::filesystem::path& folder, const std::string& prefix);

// How many of the samples are judged: all, or what `validation_samples` says where the best weights
// are chosen by them.
std::int64_t samples_to_judge(const train::Task& task, const Options& options,
                              std::int64_t available);

// Pictures of this side that are judged together: 64 of 64 x 64 or smaller, and as many pixels of
// larger ones.
std::int64_t pictures_to_judge(std::int64_t side);

// Calls use(first, indices) for every `parts`-th batch of [0, count) from batch `part` on.
template <class Use>
void for_batches(std::int64_t count, std::int64_t batch, int part, int parts, Use use) {
  for (std::int64_t first = part * batch; first < count; first += parts * batch) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(std::min(batch, count - first)));
    std::iota(indices.begin(), indices.end(), first);
    use(first, std::span<const std::int64_t>(indices));
  }
}

// The value of that name; 0 when there is none.
double value_of(const train::Metrics& metrics, std::string_view name);

}  // namespace tutti::models
