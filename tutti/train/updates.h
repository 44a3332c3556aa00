// Consecutive optimizer updates of a step, each with a strategy for its own parameters.
#pragma once

#include <memory>
#include <vector>

#include "tutti/train/strategy.h"
#include "tutti/train/task.h"

namespace tutti::train {

// The updates of a step and their strategies. A GAN has several updates, for example of discriminator and generator;
// other tasks have one. Not thread-safe.
class StepUpdates {
 public:
  // The updates of the task. Updates of the same parameters share a strategy and its buckets. Throws ConfigError if
  // there are several and the options are not `sync` without lag and stages.
  StepUpdates(const Task& task, const StrategyContext& context,
              std::unique_ptr<Strategy> (*make)(const StrategyContext&) = make_strategy);

  std::size_t size() const { return updates_.size(); }
  const std::string& name(std::size_t update) const { return updates_[update].name; }
  const std::string& old_name(std::size_t update) const { return updates_[update].old_name; }
  // That of the first update defines the groups of ranks.
  Strategy& strategy(std::size_t update = 0) { return *strategies_[range_of_update_[update]]; }
  // Number (from 1) of this update among all updates of its parameters, in step `step` (from 0).
  std::int64_t number(std::size_t update, std::int64_t step) const;

  // Calls share_moments of all strategies.
  void share_moments();

  // While an object exists, only the parameters of `update` require gradients.
  class FreezeOthers {
   public:
    FreezeOthers(StepUpdates& updates, std::size_t update);
    ~FreezeOthers();
    FreezeOthers(const FreezeOthers&) = delete;
    FreezeOthers& operator=(const FreezeOthers&) = delete;

   private:
    std::vector<torch::Tensor> frozen_;
  };

 private:
  struct Range {
    std::size_t first, last;  // tensors, `last` excluded
  };
  std::vector<Update> updates_;
  std::vector<std::size_t> range_of_update_;  // per update: index of its range and strategy
  std::vector<Range> ranges_;
  std::vector<std::unique_ptr<Strategy>> strategies_;
  std::vector<torch::Tensor>& tensors_;
};

}  // namespace tutti::train
