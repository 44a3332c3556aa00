#include "tutti/comm/execution/plan_runner.h"

#include <algorithm>

#include "tutti/comm/execution/chunks.h"
#include "tutti/comm/execution/wide_average.h"

namespace tutti::comm {

PlanRunner::PlanRunner(Planner& planner, Executor& executor, Arena& arena, FlightRecord& flight,
                       const topo::Layout& layout, int rank)
    : planner_(planner),
      executor_(executor),
      arena_(arena),
      flight_(flight),
      rank_(rank),
      size_(layout.size()),
      is_one_host_(layout.hosts.size() == 1),
      shares_hosts_(std::ranges::any_of(
          layout.hosts, [](const topo::Host& host) { return host.ranks.size() > 1; })) {}

// On one host a single step reduces the vectors of all ranks, for any type and size.
Result PlanRunner::run(const Operation& operation, FlightEntry& entry) {
  if (operation.collective == plan::Collective::kAllReduce && is_one_host_) {
    const plan::Plan& plan = planner_.plan_for(operation);
    if (plan.host_all_reduce()) [[likely]] {
      Result outcome = executor_.run(plan, operation, entry.record);
      entry.algorithm = executor_.last_host_row();
      return outcome;
    }
  }
  executor_.reset_times();
  if (!WideAverage::covers(operation)) [[likely]]
    return run_in_chunks(operation, entry);
  const WideAverage wide(arena_, rank_, size_,
                         [&](const Operation& part) { return run_in_chunks(part, entry); });
  return wide.perform(operation);
}

// The executor does not time kHostAllReduce, so its time is that of the whole operation.
DimensionTimes PlanRunner::times_of(const FlightEntry& entry) const {
  if (entry.algorithm != executor_.last_host_row()) return executor_.times();
  DimensionTimes times;
  times.nanoseconds[0] = entry.nanoseconds();
  return times;
}

// Memory that peers cannot map is copied through library memory, in chunks to bound its size. All ranks must use the
// same chunks, so for vectors only the size decides. Chunks of pieces are packed, which costs a copy even for library
// memory, so the ranks agree on whether to use them.
Result PlanRunner::run_in_chunks(const Operation& operation, FlightEntry& entry) {
  if (!shares_hosts_ || total_bytes(operation, size_) <= kMostStagedBytes) {
    return run_chunk(operation, operation, entry);
  }
  if (!has_pieces(operation)) {
    return for_each_chunk(operation, rank_, size_,
                          [&](const Operation& chunk) { return run_chunk(chunk, chunk, entry); });
  }
  bool cuts = false;
  Result agreed =
      agree(!executor_.has_room_for(planner_.plan_for(operation), operation), &cuts, entry);
  if (!agreed) return agreed;
  if (!cuts) return run_chunk(operation, operation, entry);
  return for_each_chunk(operation, rank_, size_,
                        [&](const Operation& chunk) { return run_chunk(chunk, operation, entry); });
}

// Sets `*anyone` if any rank of the current operation passes true.
Result PlanRunner::agree(bool mine, bool* anyone, FlightEntry& entry) {
  std::int32_t answer = mine ? 1 : 0;
  const Operation question{
      .dtype = DType::kI32, .op = ReduceOp::kMax, .input = &answer, .output = &answer, .count = 1};
  Result outcome = run_chunk(question, question, entry);
  *anyone = answer != 0;
  return outcome;
}

Result PlanRunner::run_chunk(const Operation& chunk, const Operation& whole, FlightEntry& entry) {
  const plan::Plan& plan = planner_.plan_for(chunk, whole);
  entry.algorithm = flight_.keep(plan.algorithm);
  return executor_.run(plan, chunk, entry.record);
}

}  // namespace tutti::comm
