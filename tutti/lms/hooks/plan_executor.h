// Executes a plan at operator boundaries.
//
// Before operator i: waits for the writes whose memory must be free (`free_by`), starts reads (`read_before`; again at the
// next operators if the budget has no space yet), and waits for the blocks that it needs (`next_use`). After operator i:
// starts writes (`write_after`) and sets the next use of its blocks, by which the pager evicts. The plan applies as long as
// operators and allocations are those of its trace. After a difference everything else in the step is passive.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tutti/lms/hooks/step_recorder.h"
#include "tutti/lms/pager/pager.h"
#include "tutti/lms/plan.h"
#include "tutti/lms/planner.h"

namespace tutti::lms {

// A plan with its trace. `step.refs` are the blocks of the last step with this plan.
struct PlannedStep {
  RecordedStep step;
  Plan plan;
};

// Not thread-safe, except for the pager.
class PlanExecutor {
 public:
  explicit PlanExecutor(Pager& pager) : pager_(pager) {}

  // Starts a step. nullptr: passive. `planned` must stay valid until the next begin_step.
  void begin_step(PlannedStep* planned, bool moves_persistent);
  bool is_active() const { return planned_ != nullptr; }

  // The block of the n-th counted allocation of the step.
  void bind(int ordinal, BlockRef ref, std::int64_t bytes);
  void before_operator(int index);
  // `hash`: of the recorder after the operator.
  void after_operator(int index, std::uint64_t hash);

  // Waits for planned reads in this step.
  const std::vector<Lateness>& lateness() const { return lateness_; }

 private:
  struct Triggers {  // by operator; positions in the decisions of the plan
    std::vector<int> free, read, need, write;
    std::vector<std::pair<int, std::int64_t>> next_uses;  // block, time
  };

  BlockRef ref_of(int decision) const;
  void add_next_uses(bool moves_persistent);

  Pager& pager_;
  PlannedStep* planned_ = nullptr;
  std::vector<Triggers> triggers_;
  std::vector<int> delayed_;  // decisions whose read had no space
  std::vector<Lateness> lateness_;
  int persistents_ = 0;
};

}  // namespace tutti::lms
