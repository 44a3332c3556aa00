// Rows of metrics.csv from all groups.
#pragma once

#include <vector>

#include "tutti/train/internal/run_context.h"

namespace tutti::train {

// The first group writes its rows at once. Other groups run at their own pace and buffer their rows until all groups
// synchronise, so no rank waits for a row.
class StepRows {
 public:
  // `context` must outlive this object.
  explicit StepRows(RunContext& context) : context_(context) {}

  // Adds a step of this group.
  void add(std::int64_t step, double epoch, Metrics metrics);
  // Sends the rows of other groups to rank 0, which inserts them in the order of steps. Collective over all ranks that
  // train.
  void share();

 private:
  RunContext& context_;
  std::vector<double> waiting_;  // buffered rows, flattened
  Metrics form_;                 // the last row of the first group; has the column names
};

}  // namespace tutti::train
