// Positions of the values of all trials, computed once for finished trials.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tutti/tune/history.h"

namespace tutti::tune {

// Not thread-safe. One object serves one history.
class PositionCache {
 public:
  // By number of the trial: the position in the unit interval, or the index of the choice; NaN: the trial does not have
  // the parameter. Valid until the next call for the same parameter.
  const std::vector<float>& positions(const History& history, const Parameter& parameter);

 private:
  struct Entry {
    Distribution distribution;
    std::vector<float> positions;
    std::size_t final_count =
        0;  // leading trials that have finished, so their values do not change
  };
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace tutti::tune
