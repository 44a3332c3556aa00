// One attempt of the planner: selection of intervals for a target, and their triggers.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/lms/internal/candidates.h"
#include "tutti/lms/internal/memory_curve.h"
#include "tutti/lms/plan.h"
#include "tutti/lms/planner_options.h"

namespace tutti::lms {

// Selects candidates until resident bytes do not exceed `target`, and schedules their transfers within the budget of
// the options. See planner.h for the algorithm. Does not choose blocks to recompute.
class Schedule {
 public:
  Schedule(const Trace& trace, const MemoryCurve& curve, const std::vector<Candidate>& candidates,
           const PlannerOptions& options);

  Plan run(std::int64_t target);

 private:
  struct Selected {
    const Candidate* candidate;
    int free_by, read_before;
  };

  void select(std::int64_t target);
  void drop_unnecessary(std::int64_t target);
  void schedule_reads();
  void place_reads_within_budget();
  // Adds bytes to the instants at which the block is not resident if its read starts before operator `read_before`.
  void add_while_out(const Candidate& candidate, int read_before, std::int64_t bytes);
  std::int64_t maximum_while_out(const Candidate& candidate) const;
  int operator_before(double seconds) const;

  const Trace& trace_;
  const std::vector<Candidate>& candidates_;
  const PlannerOptions& options_;
  const int count_;
  MemoryCurve curve_;
  std::vector<Selected> selected_;
};

}  // namespace tutti::lms
