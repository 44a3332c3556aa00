// Execution of an operation by one or more plans.
#pragma once

#include "tutti/comm/execution/executor.h"
#include "tutti/comm/execution/planner.h"
#include "tutti/comm/observe/flight_record.h"
#include "tutti/topo/layout.h"

namespace tutti::comm {

class PlanRunner {
 public:
  // All arguments must outlive this object. `rank`: this rank in the communicator that `layout` describes.
  PlanRunner(Planner& planner, Executor& executor, Arena& arena, FlightRecord& flight,
             const topo::Layout& layout, int rank);

  // Runs the operation; `entry` receives the algorithm of its last plan.
  Result run(const Operation& operation, FlightEntry& entry);
  // Times of the last operation.
  DimensionTimes times_of(const FlightEntry& entry) const;

 private:
  Result run_in_chunks(const Operation& operation, FlightEntry& entry);
  Result run_chunk(const Operation& chunk, const Operation& whole, FlightEntry& entry);
  Result agree(bool mine, bool* anyone, FlightEntry& entry);

  Planner& planner_;
  Executor& executor_;
  Arena& arena_;
  FlightRecord& flight_;
  const int rank_;
  const int size_;
  const bool is_one_host_;
  const bool shares_hosts_;  // true if a host has several ranks
};

}  // namespace tutti::comm
