#include "tutti/train/updates.h"

#include <torch/types.h>

#include <algorithm>

#include "tutti/core/error.h"
#include "tutti/train/run/config.h"

namespace tutti::train {

StepUpdates::StepUpdates(const Task& task, const StrategyParts& parts,
                         std::unique_ptr<Strategy> (*make)(const StrategyParts&))
    : updates_(task.updates()), tensors_(parts.parameters.tensors()) {
  const Options& options = parts.options;
  if (updates_.size() > 1 &&
      (!is_synchronous(options) || options.integer("lag") > 0 || options.integer("stages") > 1))
    throw ConfigError(
        "DDL-1-93", "Networks that train against each other need strategy sync, lag 0, stages 1.");
  const std::vector<Segment>& segments = parts.parameters.segments();
  for (const Update& update : updates_) {
    auto is_its = [&](const Segment& segment) { return segment.name.starts_with(update.prefix); };
    Range range = {parts.first_tensor, parts.last_tensor};
    if (!update.prefix.empty()) {
      const auto first = std::find_if(segments.begin(), segments.end(), is_its);
      range.first = static_cast<std::size_t>(first - segments.begin());
      range.last = range.first + static_cast<std::size_t>(
                                     std::find_if_not(first, segments.end(), is_its) - first);
    }
    std::size_t place = 0;
    while (place < ranges_.size() && ranges_[place].first != range.first) ++place;
    places_.push_back(place);
    if (place < ranges_.size()) continue;
    ranges_.push_back(range);
    StrategyParts own = parts;
    own.first_tensor = range.first;
    own.last_tensor = range.last;
    strategies_.push_back(make(own));
  }
}

std::int64_t StepUpdates::number(std::size_t update, std::int64_t step) const {
  const auto in_a_step = std::count(places_.begin(), places_.end(), places_[update]);
  const auto end = places_.begin() + static_cast<std::ptrdiff_t>(update);
  return step * in_a_step + std::count(places_.begin(), end, places_[update]) + 1;
}

void StepUpdates::share_moments() {
  for (const auto& strategy : strategies_) strategy->share_moments();
}

StepUpdates::Alone::Alone(StepUpdates& updates, std::size_t update) {
  if (updates.size() == 1) return;
  const Range range = updates.ranges_[updates.places_[update]];
  for (std::size_t i = 0; i < updates.tensors_.size(); ++i)
    if (i < range.first || i >= range.last)
      still_.push_back(updates.tensors_[i].set_requires_grad(false));
}

StepUpdates::Alone::~Alone() {
  for (torch::Tensor& tensor : still_) tensor.set_requires_grad(true);
}

}  // namespace tutti::train
