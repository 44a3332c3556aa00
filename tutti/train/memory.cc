#include "tutti/train/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tutti/core/error.h"
#include "tutti/os/memory.h"
#include "tutti/train/optim/optimizer.h"
#include "tutti/train/strategy.h"

namespace tutti::train {
namespace {

constexpr double kProgram = 0.4e9;  // libtorch and other memory of a rank

// Settings that would fit, as the end of the message.
std::string suggestion(const MemoryNeed& need, std::int64_t batch, int ranks, double free) {
  auto fits = [&](double samples, int processes) { return need.of(samples) * processes <= free; };
  std::string ways;
  for (int fewer = ranks; fewer > 0 && ways.empty(); --fewer) {
    if (!fits(1, fewer)) continue;
    const double most = std::floor((free / fewer - need.fixed) / need.sample);
    ways = fmt::format("--set batch={}", std::min<std::int64_t>(batch, std::int64_t(most)));
    if (fewer < ranks) ways += fmt::format(" with --ranks {}", fewer);
  }
  if (ways.empty()) return "Not even one sample on one rank fits: use a smaller --size.";
  return fmt::format("{} would fit (`accumulate` makes up for a smaller batch).", ways);
}

}  // namespace

MemoryNeed memory_need(Task& task, const Options& options) {
  double weights = 0;
  for (const torch::Tensor& each : task.model().parameters()) weights += double(each.numel());
  const auto state = double(Optimizer(update_settings(options), {{"one", 0, 1}}).state().size());
  // A checkpoint is a copy of weights and state that is written while training continues.
  const double copies = 1 + gradient_buffers(options) + state + (1 + state);
  const auto stages = double(options.integer("stages"));
  return {kProgram + 4 * weights * copies, task.bytes_per_sample() / stages};
}

void check_need(const MemoryNeed& need, std::int64_t batch, int ranks, double free) {
  const double wanted = need.of(double(batch)) * ranks;
  if (wanted <= free || need.sample <= 0) return;
  throw ConfigError(
      "DDL-1-74",
      fmt::format("Training {} samples at a time on {} rank{} of this host needs about {:.1f} GB "
                  "of memory, and {:.1f} GB are free. {} To start anyway: --set check_memory=0.",
                  batch, ranks, ranks == 1 ? "" : "s", wanted * 1e-9, free * 1e-9,
                  suggestion(need, batch, ranks, free)));
}

void check_memory(Task& task, comm::Communicator& communicator, const Options& options) {
  if (!options.flag("check_memory") || !options.text("lms").empty()) return;
  auto free = static_cast<double>(os::free_memory().bytes());
  communicator.all_reduce({&free, 1, DType::kF64}, ReduceOp::kMin, {.name = "free memory"});
  check_need(memory_need(task, options), options.integer("batch"), communicator.local_size(), free);
}

}  // namespace tutti::train
