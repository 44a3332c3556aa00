#include "tutti/train/updates.h"

#include <torch/types.h>

#include <algorithm>

#include "tutti/core/error.h"
#include "tutti/train/run/config.h"

namespace tutti::train {

StepUpdates::StepUpdates(const Task& task, const StrategyContext& context,
                         std::unique_ptr<Strategy> (*make)(const StrategyContext&))
    : updates_(task.updates()), tensors_(context.parameters.tensors()) {
  const Options& options = context.options;
  if (updates_.size() > 1 &&
      (!is_synchronous(options) || options.integer("lag") > 0 || options.integer("stages") > 1))
    throw ConfigError(
        "DDL-1-93",
        "Training with several optimizers (GANs) needs strategy sync, lag 0, stages 1.");
  const std::vector<Segment>& segments = context.parameters.segments();
  for (const Update& update : updates_) {
    auto is_its = [&](const Segment& segment) { return segment.name.starts_with(update.prefix); };
    Range range = {context.first_tensor, context.last_tensor};
    if (!update.prefix.empty()) {
      const auto first = std::find_if(segments.begin(), segments.end(), is_its);
      range.first = static_cast<std::size_t>(first - segments.begin());
      range.last = range.first + static_cast<std::size_t>(
                                     std::find_if_not(first, segments.end(), is_its) - first);
    }
    std::size_t index = 0;
    while (index < ranges_.size() && ranges_[index].first != range.first) ++index;
    range_of_update_.push_back(index);
    if (index < ranges_.size()) continue;
    ranges_.push_back(range);
    StrategyContext own = context;
    own.first_tensor = range.first;
    own.last_tensor = range.last;
    strategies_.push_back(make(own));
  }
}

std::int64_t StepUpdates::number(std::size_t update, std::int64_t step) const {
  const auto in_a_step =
      std::count(range_of_update_.begin(), range_of_update_.end(), range_of_update_[update]);
  const auto end = range_of_update_.begin() + static_cast<std::ptrdiff_t>(update);
  return step * in_a_step + std::count(range_of_update_.begin(), end, range_of_update_[update]) + 1;
}

void StepUpdates::share_moments() {
  for (const auto& strategy : strategies_) strategy->share_moments();
}

StepUpdates::FreezeOthers::FreezeOthers(StepUpdates& updates, std::size_t update) {
  if (updates.size() == 1) return;
  const Range range = updates.ranges_[updates.range_of_update_[update]];
  for (std::size_t i = 0; i < updates.tensors_.size(); ++i)
    if (i < range.first || i >= range.last)
      frozen_.push_back(updates.tensors_[i].set_requires_grad(false));
}

StepUpdates::FreezeOthers::~FreezeOthers() {
  for (torch::Tensor& tensor : frozen_) tensor.set_requires_grad(true);
}

}  // namespace tutti::train
