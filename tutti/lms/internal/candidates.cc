#include "tutti/lms/internal/candidates.h"

#include <algorithm>
#include <cstddef>

#include "tutti/lms/recompute.h"

namespace tutti::lms {
namespace {

bool is_allowed(const IdleInterval& interval, bool is_first, const PlannerOptions& options) {
  const int distance = interval.next_use - interval.last_use;
  if (distance <= options.swapout_threshold) return false;
  return is_first || distance > options.swapin_groupby;
}

}  // namespace

double start_time(const Trace& trace, int op) {
  const int count = static_cast<int>(trace.operators.size());
  if (op >= 2 * count) return 2 * trace.duration;
  if (op >= count) return trace.duration + start_time(trace, op - count);
  return trace.operators[static_cast<std::size_t>(op)].start;
}

std::vector<Candidate> candidates_of(const Trace& trace, const std::vector<Lifetime>& lifetimes,
                                     const PlannerOptions& options) {
  const RecomputeRules rules(trace, lifetimes);
  std::vector<Candidate> candidates;
  for (std::size_t index = 0; index < trace.blocks.size(); ++index) {
    const Block& block = trace.blocks[index];
    if (!options.movable.contains(block)) continue;
    const std::int64_t stored = stored_size(block, options.compacts ? block.codec : Codec::kNone);
    bool is_first = true;
    for (const IdleInterval& interval : idle_intervals(lifetimes[index], trace)) {
      const bool is_selected = is_allowed(interval, is_first, options);
      is_first = false;
      if (!is_selected) continue;
      Candidate candidate;
      candidate.block = static_cast<int>(index);
      candidate.interval = interval;
      candidate.bytes = block.bytes;
      candidate.write_seconds = options.tier.write_seconds(stored);
      candidate.read_seconds = interval.is_needed ? options.tier.read_seconds(stored) : 0;
      const double idle_from =
          interval.last_use < 0 ? 0
                                : trace.operators[static_cast<std::size_t>(interval.last_use)].end;
      const double idle_to = start_time(trace, interval.next_use);
      const double transfers = candidate.write_seconds + candidate.read_seconds;
      candidate.can_overlap = idle_to - idle_from > transfers;
      if (options.recomputes && interval.is_needed) {
        const auto chain = rules.chain(candidate.block, interval.next_use);
        if (chain) candidate.recompute_seconds = chain->seconds;
      }
      double cost = transfers;
      if (stored < block.bytes)
        cost += static_cast<double>(block.bytes) *
                (1 / options.tier.encode_bandwidth + 1 / options.tier.decode_bandwidth);
      if (candidate.recompute_seconds >= 0) {
        cost = options.prefers_recompute ? 0 : std::min(cost, candidate.recompute_seconds);
        candidate.can_overlap |= options.prefers_recompute;
      }
      const double seconds_per_byte = cost / static_cast<double>(block.bytes);
      candidate.priority = idle_to / std::max(seconds_per_byte, 1e-15);
      candidates.push_back(candidate);
    }
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& left, const Candidate& right) {
              if (left.interval.last_use != right.interval.last_use) {
                return left.interval.last_use < right.interval.last_use;
              }
              return left.block < right.block;
            });
  return candidates;
}

}  // namespace tutti::lms
