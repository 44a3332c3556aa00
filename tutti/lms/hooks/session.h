// Large model support of the process: pins the blocks of running operators, records steps, and executes plans.
//
// Every thread has a stack of operators. An operator pins its inputs while it runs. Blocks that are allocated while an
// operator runs stay pinned until the outermost operator of the thread ends, because kernels use raw pointers to them.
//
// The thread that created the session records the trace. A step consists of optimizer, forward and backward pass. It
// ends at the first operator after the backward pass, because the fewest blocks exist then. After each step with a new
// trace, the session makes a plan for it. The session predicts the next step from the current one: the plan is that of
// the trace which followed this trace the last time.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tutti/core/mutex.h"
#include "tutti/lms/hooks/cpu_allocator.h"
#include "tutti/lms/hooks/plan_executor.h"
#include "tutti/lms/hooks/recomputer.h"
#include "tutti/lms/hooks/step_recorder.h"
#include "tutti/lms/pager/pager.h"
#include "tutti/lms/planner_options.h"

namespace tutti::lms {

struct SessionOptions {
  PagerOptions pager;
  PlannerOptions planner;
  std::int64_t minimum_bytes = 256 << 10;  // smaller allocations are left to libtorch
  std::int64_t segment_bytes =
      0;              // larger allocations are split into blocks of this size; 0: one block
  bool plans = true;  // false: all steps are passive
  bool handles_faults = true;  // install the fault handler
};

// Counters since the start of the session.
struct SessionStatistics {
  PagerStatistics pager;
  std::int64_t budget = 0;  // bytes
  std::int64_t steps = 0, planned_steps = 0, plans = 0;
  std::int64_t last_unplanned_reads = 0;   // in the last step
  double last_seconds = 0, last_wait = 0;  // of the last step
};

class Session final : public MemorySource {
 public:
  explicit Session(const SessionOptions& options);

  // MemorySource. Allocations fail with MemoryError (DDL-5-70), which names the operator, or IoError (DDL-5-7x).
  void* allocate(std::size_t bytes) override;
  bool free(void* address) override;

  // Called when an operator starts on this thread, with its input blocks, those of them that it modifies, and a hash of
  // their shapes. Does not throw: the next allocation of the operator throws the error, because libtorch ignores
  // exceptions of its callbacks. `is_transparent`: the operator only calls others; nothing is pinned for it.
  void begin_operator(std::string_view name, bool is_transparent, std::span<const BlockRef> inputs,
                      std::span<const BlockRef> modified, std::uint64_t shapes);
  void end_operator();

  // Returns the contents of the inputs of an operator that can be repeated; empty if the operator is not recorded.
  std::optional<std::vector<Recipe::Input>> contents_of(std::span<const BlockRef> inputs);
  // Records that the running operator stored a content in `output` that it can compute again from `inputs`.
  void add_recipe(BlockRef output, std::vector<Recipe::Input> inputs, const MakeCall& make_call);

  // Start or stop serving allocations. stop() also lifts the budget and makes all blocks resident if they fit into
  // memory.
  void start();
  void stop();
  // Drops all plans. Only the thread that created the session may call it.
  void set_budget(std::int64_t bytes);

  Pager& pager() { return pager_; }
  std::int64_t segment_bytes() const { return options_.segment_bytes; }
  SessionStatistics statistics() const;
  // The last complete step and its plan; empty before the first complete step.
  Trace trace() const;
  Plan plan() const;
  PlannerOptions planner_options() const;

 private:
  struct ThreadScopes;
  ThreadScopes& scopes() const;

  void* allocate_segments(std::int64_t bytes);
  void add_block(BlockRef ref) TUTTI_REQUIRES(mutex_);
  void begin_outermost(std::string_view name, std::uint64_t shapes);
  void end_outermost();
  void end_step();
  void count_step(const PagerStatistics& now, bool was_planned) TUTTI_REQUIRES(mutex_);
  void update_plans(RecordedStep step, bool was_planned) TUTTI_REQUIRES(mutex_);
  std::uint64_t next_hash(std::uint64_t hash) const TUTTI_REQUIRES(mutex_);
  PlannedStep* plan_of(std::uint64_t hash) const TUTTI_REQUIRES(mutex_);
  PlannedStep* plan_of(const Trace& trace) const TUTTI_REQUIRES(mutex_);
  void correct_plan(PlannedStep& planned) TUTTI_REQUIRES(mutex_);
  void measure_disk(const Trace& trace) TUTTI_REQUIRES(mutex_);
  void make_plan_for(RecordedStep step) TUTTI_REQUIRES(mutex_);
  double time() const;
  MemoryError with_operator(const BudgetError& error) const;

  SessionOptions options_;
  const int process_;
  const std::thread::id thread_ = std::this_thread::get_id();  // records
  Pager pager_;
  Recomputer recomputer_{pager_};
  PlanExecutor executor_;  // used by thread_ only
  std::atomic<bool> is_running_ = false;
  bool was_backward_ = false;    // thread_ only: the last outermost operator
  bool is_measured_ = false;     // thread_ only: the disk
  double step_start_ = 0;        // thread_ only
  PagerStatistics step_before_;  // thread_ only

  mutable Mutex mutex_;
  StepRecorder recorder_ TUTTI_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::unique_ptr<PlannedStep>> plans_ TUTTI_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::uint64_t> successors_
      TUTTI_GUARDED_BY(mutex_);                                 // hash -> hash of the next step
  std::map<std::uint64_t, int> seen_ TUTTI_GUARDED_BY(mutex_);  // steps by hash
  std::uint64_t last_hash_ TUTTI_GUARDED_BY(mutex_) = 0;
  SessionStatistics statistics_ TUTTI_GUARDED_BY(mutex_);
  Trace last_trace_ TUTTI_GUARDED_BY(mutex_);
  Plan last_plan_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::lms
