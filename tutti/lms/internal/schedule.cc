#include "tutti/lms/internal/schedule.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <queue>

namespace tutti::lms {
namespace {

// Reads start earlier than necessary by this fraction of their duration.
constexpr double kReadMargin = 0.1;

}  // namespace

Schedule::Schedule(const Trace& trace, const MemoryCurve& curve,
                   const std::vector<Candidate>& candidates, const PlannerOptions& options)
    : trace_(trace),
      candidates_(candidates),
      options_(options),
      count_(static_cast<int>(trace.operators.size())),
      curve_(curve) {}

Plan Schedule::run(std::int64_t target) {
  select(target);
  drop_unnecessary(target);
  schedule_reads();
  place_reads_within_budget();
  Plan plan;
  plan.hash = trace_.hash();
  plan.budget = options_.budget;
  for (const Selected& selected : selected_) {
    const Candidate& candidate = *selected.candidate;
    const Block& block = trace_.blocks[static_cast<std::size_t>(candidate.block)];
    const int next_use = candidate.interval.next_use;
    Decision decision;
    decision.block = candidate.block;
    decision.last_use = decision.write_after = candidate.interval.last_use;
    decision.next_use = next_use;
    decision.is_needed = candidate.interval.is_needed;
    decision.read_before = decision.is_needed ? selected.read_before : next_use;
    decision.free_by = std::min(selected.free_by, decision.read_before);
    if (options_.compacts && block.stored_bytes > 0) decision.codec = block.codec;
    plan.decisions.push_back(decision);
  }
  std::sort(plan.decisions.begin(), plan.decisions.end(),
            [](const Decision& left, const Decision& right) {
              return left.write_after != right.write_after ? left.write_after < right.write_after
                                                           : left.block < right.block;
            });
  return plan;
}

void Schedule::select(std::int64_t target) {
  const auto is_worse = [&](std::size_t left, std::size_t right) {
    const Candidate &first = candidates_[left], &second = candidates_[right];
    if (first.can_overlap != second.can_overlap) return second.can_overlap;
    if (first.priority != second.priority) return first.priority < second.priority;
    return left > right;
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(is_worse)> idle(is_worse);
  std::size_t next = 0;
  int instant = 0;
  while ((instant = curve_.first_above(instant, target)) < curve_.size()) {
    const int op = curve_.operator_at(instant);
    for (; next < candidates_.size() && candidates_[next].interval.last_use < op; ++next)
      idle.push(next);
    // Intervals that have ended stay in the queue until they reach its top. An interval into the next step also covers
    // the start of this one, before its last use; the walk has already passed these points, so only drop_unnecessary()
    // takes that into account.
    while (!idle.empty()) {
      const IdleInterval& top = candidates_[idle.top()].interval;
      if (top.next_use >= count_ || curve_.start_of(top.next_use) > instant) break;
      idle.pop();
    }
    if (idle.empty()) {
      ++instant;  // only the working set of an operator is left; the runtime reports an error if it exceeds the budget
      continue;
    }
    const Candidate& candidate = candidates_[idle.top()];
    idle.pop();
    const int free_by = (options_.sync_mode & 1) != 0
                            ? candidate.interval.last_use + 1
                            : std::max(op, candidate.interval.last_use + 1);
    selected_.push_back({&candidate, free_by, candidate.interval.next_use});
    add_while_out(candidate, candidate.interval.next_use, -candidate.bytes);
  }
}

// Later selections may cover the points of earlier ones. Those with the nearest next use are dropped first.
void Schedule::drop_unnecessary(std::int64_t target) {
  std::stable_sort(selected_.begin(), selected_.end(),
                   [](const Selected& left, const Selected& right) {
                     return left.candidate->priority < right.candidate->priority;
                   });
  const auto is_unnecessary = [&](const Selected& selected) {
    const Candidate& candidate = *selected.candidate;
    if (maximum_while_out(candidate) + candidate.bytes > target) return false;
    add_while_out(candidate, candidate.interval.next_use, candidate.bytes);
    return true;
  };
  selected_.erase(std::remove_if(selected_.begin(), selected_.end(), is_unnecessary),
                  selected_.end());
}

void Schedule::schedule_reads() {
  std::sort(selected_.begin(), selected_.end(), [](const Selected& left, const Selected& right) {
    const Candidate &first = *left.candidate, &second = *right.candidate;
    return first.interval.next_use != second.interval.next_use
               ? first.interval.next_use < second.interval.next_use
               : first.block < second.block;
  });
  double queue_start = std::numeric_limits<double>::infinity();
  for (std::size_t index = selected_.size(); index-- > 0;) {
    Selected& selected = selected_[index];
    const IdleInterval& interval = selected.candidate->interval;
    if (!interval.is_needed || (options_.sync_mode & 2) != 0) continue;
    int read_before = interval.next_use - options_.swapin_ahead;
    if (options_.swapin_ahead < 0) {
      const double end = std::min(queue_start, start_time(trace_, interval.next_use));
      queue_start = end - (1 + kReadMargin) * selected.candidate->read_seconds;
      read_before = operator_before(queue_start);
    }
    selected.read_before = std::clamp(read_before, interval.last_use + 1, interval.next_use);
  }
}

void Schedule::place_reads_within_budget() {
  for (Selected& selected : selected_) {
    const Candidate& candidate = *selected.candidate;
    if (!candidate.interval.is_needed) continue;
    int& read_before = selected.read_before;
    const int next_use = candidate.interval.next_use;
    // A block that the next step uses is read in the next step, not at the end of this one.
    const int offset = next_use >= count_ ? count_ : 0;
    read_before = std::max(read_before, offset);
    const int last = next_use - offset;
    const int full = curve_.last_above(curve_.start_of(last), options_.budget - candidate.bytes);
    if (full >= 0) {
      const int earliest = curve_.operator_at(full) + 1;
      read_before = std::clamp(std::max(read_before, earliest + offset), read_before, next_use);
    }
    curve_.add(curve_.start_of(read_before - offset), curve_.start_of(last), candidate.bytes);
  }
}

void Schedule::add_while_out(const Candidate& candidate, int read_before, std::int64_t bytes) {
  const int start = curve_.end_of(candidate.interval.last_use);
  if (read_before <= count_) {
    curve_.add(start, curve_.start_of(read_before), bytes);
  } else {
    curve_.add(start, curve_.size(), bytes);
    curve_.add(0, curve_.start_of(read_before - count_), bytes);
  }
}

std::int64_t Schedule::maximum_while_out(const Candidate& candidate) const {
  const int start = curve_.end_of(candidate.interval.last_use);
  const int next_use = candidate.interval.next_use;
  if (next_use <= count_) return curve_.maximum(start, curve_.start_of(next_use));
  return std::max(curve_.maximum(start, curve_.size()),
                  curve_.maximum(0, curve_.start_of(next_use - count_)));
}

// The last operator that starts at or before `seconds`; for times in the next step, its operators.
int Schedule::operator_before(double seconds) const {
  const int offset = seconds >= trace_.duration ? count_ : 0;
  if (offset > 0) seconds -= trace_.duration;
  const auto after =
      std::upper_bound(trace_.operators.begin(), trace_.operators.end(), seconds,
                       [](double time, const Operator& op) { return time < op.start; });
  return offset + std::max(0, static_cast<int>(after - trace_.operators.begin()) - 1);
}

}  // namespace tutti::lms
