// Reports about operations while they run, as the options ask for: dump_iter, dbg_level 2.
#pragma once

#include <functional>
#include <vector>

#include "tutti/comm/observe/flight_record.h"
#include "tutti/comm/observe/statistics.h"
#include "tutti/core/options.h"
#include "tutti/topo/layout.h"

namespace tutti::comm {

class Observers {
 public:
  // Ranks observe alike. `gather` gathers the values of all ranks by an operation; `grid` and
  // `layout` must outlive this.
  void add(const Options& options, const topo::Grid& grid, const topo::Layout& layout, int rank,
           const Statistics::Gather& gather);
  bool empty() const { return observers_.empty(); }
  // Operations of the observers themselves are not reported.
  Result report(const Operation& operation, const FlightEntry& entry, const DimensionTimes& times);

 private:
  std::vector<std::function<Result(const Observation&)>> observers_;  // mostly none
  bool is_observing_ = false;
};

}  // namespace tutti::comm
