// The updates that a step makes one after the other, each by a strategy over its own parameters.
#pragma once

#include <memory>
#include <vector>

#include "tutti/train/strategy.h"
#include "tutti/train/task.h"

namespace tutti::train {

class StepUpdates {
 public:
  // The updates of the task; those that change the same parameters share a strategy, and what they
  // do is reduced in the same buckets. Throws ConfigError when there are several and the options do
  // not say `sync` without lag or stages.
  StepUpdates(const Task& task, const StrategyContext& context,
              std::unique_ptr<Strategy> (*make)(const StrategyContext&) = make_strategy);

  std::size_t size() const { return updates_.size(); }
  const std::string& name(std::size_t update) const { return updates_[update].name; }
  // The one of the first update knows who works together.
  Strategy& strategy(std::size_t update = 0) { return *strategies_[range_of_update_[update]]; }
  // The how manieth this is, from 1, of the updates of its parameters, in step `step` (from 0).
  std::int64_t number(std::size_t update, std::int64_t step) const;

  // Of all strategies.
  void share_moments();

  // Only the parameters of `update` take gradients while this lives.
  class Alone {
   public:
    Alone(StepUpdates& updates, std::size_t update);
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    std::vector<torch::Tensor> still_;
  };

 private:
  struct Range {
    std::size_t first, last;  // tensors, `last` excluded
  };
  std::vector<Update> updates_;
  std::vector<std::size_t> range_of_update_;  // of each update: its range and strategy
  std::vector<Range> ranges_;
  std::vector<std::unique_ptr<Strategy>> strategies_;
  std::vector<torch::Tensor>& tensors_;
};

}  // namespace tutti::train
