#include "tutti/models/nets/task_parts.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/kernels/amx/amx.h"
#include "tutti/os/heap.h"
#include "tutti/os/memory.h"
#include "tutti/train/data/h5.h"
#include "tutti/train/run/progress.h"

namespace tutti::models {

namespace fs = std::filesystem;

fs::path data_folder(const std::string& name) {
  const char* cache = getenv("XDG_CACHE_HOME");
  const char* home = getenv("HOME");
  const fs::path base = cache && *cache ? fs::path(cache)
                        : home && *home ? fs::path(home) / ".cache"
                                        : fs::temp_directory_path();
  return base / "tutti" / name;
}

namespace {

constexpr double kBarrierTimeout = 90 * 86400;  // seconds; ranks may finish hours before others

// Index of this rank among those that generate data, and their number; rank -1: it does not.
struct Generating {
  int rank = -1, ranks = 0;
};

Generating generator_of(comm::Communicator& communicator, double bytes) {
  auto free = static_cast<double>(os::free_memory().bytes());
  communicator.all_reduce({&free, 1, DType::kF64}, ReduceOp::kMin, {.name = "free memory"});
  const int makers = ranks_that_fit(communicator.local_size(), bytes, free);
  if (makers == 0)
    throw MemoryError(
        "DDL-9-65",
        fmt::format("Generating one sample takes {:.1f} GB of memory, and {:.1f} GB are free on "
                    "this host. Use a smaller --size, or existing files with --set data=DIRECTORY.",
                    bytes * 1e-9, free * 1e-9));
  const std::int32_t is_maker = communicator.local_rank() < makers;
  std::vector<std::int32_t> all(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather({&is_maker, 1, DType::kI32}, Buffer::of(std::span(all)), {},
                          {.name = "makers"});
  const int before = std::accumulate(all.begin(), all.begin() + communicator.rank(), 0);
  return {is_maker ? before : -1, std::accumulate(all.begin(), all.end(), 0)};
}

}  // namespace

int ranks_that_fit(int ranks, double bytes, double free) {
  return bytes <= 0 ? ranks : static_cast<int>(std::clamp(free / bytes, 0.0, double(ranks)));
}

SplitSizes split_sizes(const Options& options, const std::string& unit) {
  return {options.integer("train_" + unit), options.integer("test_" + unit),
          options.integer("val_" + unit)};
}

DataLocation locate_data(const Options& options, comm::Communicator& communicator,
                         const std::function<GeneratedData()>& generated) {
  if (!options.text("data").empty()) return {.folder = options.text("data")};
  const GeneratedData data = generated();
  const fs::path folder = data_folder(data.name);
  const Generating maker = generator_of(communicator, data.bytes);
  train::ProgressLine line(communicator.rank() == 0);
  const Stopwatch watch;
  auto show = [&](double done, int all) {
    const std::string left =
        done > 0 ? train::duration_text(watch.seconds() / done * (all - done)) + " left"
                 : "starting the first";
    line.show(fmt::format("generating {} in {}: {:.2f} of {} files per rank, {}", data.what,
                          folder.string(), done, all, left));
  };
  if (maker.rank >= 0) data.generate(folder, maker.rank, maker.ranks, show);
  os::trim_heap();  // releases memory for training
  communicator.barrier({.name = "data", .timeout = kBarrierTimeout});
  return {folder, train::val_prefix(data.val), data.most.train, data.most.test};
}

double cache_bytes(const Options& options, const comm::Communicator& communicator) {
  if (const std::int64_t wanted = options.integer("cache_bytes"); wanted > 0) return double(wanted);
  return std::min(double(os::free_memory().bytes()), 1e15) / 4 /
         std::max(1, communicator.local_size());
}

std::uint64_t seed_of(const Options& options) {
  return static_cast<std::uint64_t>(options.integer("seed"));
}

double ValueBytes::at(torch::ScalarType dtype) const {
  return dtype == torch::kBFloat16 && kernels::has_matrix_units() ? bf16 : f32;
}

std::int64_t limited(std::int64_t available, std::int64_t most) {
  return most > 0 ? std::min(most, available) : available;
}

std::int64_t eval_batch(std::int64_t side) {
  return std::clamp<std::int64_t>(64 * 64 * 64 / (side * side), 4, 64);
}

double value_of(const train::Metrics& metrics, std::string_view name) {
  for (const auto& [key, value] : metrics)
    if (key == name) return value;
  return 0;
}

}  // namespace tutti::models
