// Reports about operations while they run: options `dump_iter` and `dbg_level` 2.
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
  // All ranks must add the same observers. `gather` gathers the values of all ranks with an operation. `grid` and
  // `layout` must outlive this object.
  void add(const Options& options, const topo::Grid& grid, const topo::Layout& layout, int rank,
           const Statistics::Gather& gather);
  bool empty() const { return observers_.empty(); }
  // Does not report operations of the observers themselves.
  Result report(const Operation& operation, const FlightEntry& entry, const DimensionTimes& times);

 private:
  std::vector<std::function<Result(const Observation&)>> observers_;  // usually empty
  bool is_observing_ = false;
};

}  // namespace tutti::comm
