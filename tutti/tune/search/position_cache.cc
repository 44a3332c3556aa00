#include "tutti/tune/search/position_cache.h"

#include <cmath>
#include <limits>

namespace tutti::tune {

const std::vector<float>& PositionCache::positions(const History& history,
                                                   const Parameter& parameter) {
  Entry& entry = entries_[parameter.name];
  if (entry.distribution != parameter.distribution) entry = {parameter.distribution, {}, 0};
  const std::size_t count = history.trials().size();
  entry.positions.resize(count, std::numeric_limits<float>::quiet_NaN());
  const Column* column = history.column(parameter.name);
  bool is_final = true;
  for (std::size_t i = entry.final_count; i < count; ++i) {
    const double value = column ? column->values[i] : std::numeric_limits<double>::quiet_NaN();
    const bool is_index = parameter.distribution.is_categorical();
    entry.positions[i] = static_cast<float>(
        is_index || std::isnan(value) ? value : parameter.distribution.position_of(value));
    is_final = is_final && is_finished(history.trials()[i].state);
    if (is_final) entry.final_count = i + 1;
  }
  return entry.positions;
}

}  // namespace tutti::tune
