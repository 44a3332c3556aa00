#include "tutti/lms/planner_options.h"

#include "tutti/lms/options.h"

namespace tutti::lms {

PlannerOptions planner_options(const Options& options, std::int64_t budget, const Tier& tier) {
  const auto mode = options.choice<Mode>("mode");
  PlannerOptions result;
  result.budget = budget;
  result.tier = tier;
  result.movable.with_persistent = mode == Mode::kFull;
  result.movable.minimum_bytes = options.integer("lms") * 1024;
  result.recomputes = mode != Mode::kSwap;
  result.prefers_recompute = mode == Mode::kRecompute;
  result.compacts = options.flag("compaction");
  result.fraction = options.number("lms_frac");
  result.swapout_threshold = static_cast<int>(options.integer("swapout_threshold"));
  result.swapin_ahead = static_cast<int>(options.integer("swapin_ahead"));
  result.swapin_groupby = static_cast<int>(options.integer("swapin_groupby"));
  result.sync_mode = static_cast<int>(options.integer("sync_mode"));
  result.autotunes = options.flag("autotune");
  return result;
}

}  // namespace tutti::lms
