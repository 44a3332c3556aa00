// The rows of metrics.csv, of all groups.
#pragma once

#include <vector>

#include "tutti/train/internal/run_context.h"

namespace tutti::train {

// The first group writes its steps at once. Those of the others, which work at their own pace, wait
// in memory until all groups meet: nobody has to wait, or to listen, for a row.
class StepRows {
 public:
  // `parts` must outlive this.
  explicit StepRows(RunContext& context) : context_(context) {}

  // A step that this group has taken.
  void add(std::int64_t step, double epoch, Metrics metrics);
  // Brings those of other groups to rank 0, which sorts them in by their steps. Collective over all
  // ranks that train.
  void share();

 private:
  RunContext& context_;
  std::vector<double> waiting_;  // rows, number after number
  Metrics form_;                 // the last row of the first group, for the names
};

}  // namespace tutti::train
