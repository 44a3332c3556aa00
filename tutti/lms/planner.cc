#include "tutti/lms/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>

#include "tutti/core/error.h"
#include "tutti/core/rounded_bytes.h"
#include "tutti/lms/internal/candidates.h"
#include "tutti/lms/internal/memory_curve.h"
#include "tutti/lms/internal/schedule.h"
#include "tutti/lms/lifetimes.h"
#include "tutti/lms/recompute.h"

namespace tutti::lms {
namespace {

// Candidate headrooms for prefetched blocks, as fractions of the memory above the minimum budget.
constexpr double kHeadrooms[] = {0, 0.03, 0.06, 0.125, 0.25, 0.375, 0.5, 0.75, 1};
constexpr int kRefinements = 3;
// An unplanned transfer counts as this fraction of the step: its real time is uncertain.
constexpr double kUnplannedCost = 0.01;
// Reads that were late start earlier by this multiple of the wait.
constexpr double kLatenessFactor = 1.25;

struct Attempt {
  Plan plan;
  bool is_feasible = false;
  double cost = 0, headroom = 0;
  std::int64_t bytes = 0;  // moved

  bool is_better_than(const Attempt& other) const {
    if (is_feasible != other.is_feasible) return is_feasible;
    return cost != other.cost ? cost < other.cost : bytes < other.bytes;
  }
};

class PlanSearch {
 public:
  PlanSearch(const Trace& trace, const PlannerOptions& options)
      : trace_(trace),
        options_(options),
        curve_(trace),
        lifetimes_(lifetimes_of(trace)),
        rules_(trace, lifetimes_),
        candidates_(candidates_of(trace, lifetimes_, options)) {}

  Attempt run() {
    const auto limit =
        static_cast<std::int64_t>(static_cast<double>(options_.budget) * options_.fraction);
    const std::int64_t minimum = minimum_budget(trace_, options_.movable).bytes;
    const double room = static_cast<double>(std::max<std::int64_t>(0, limit - minimum));
    const auto attempt = [&](double headroom) {
      const auto target = limit - static_cast<std::int64_t>(headroom * room);
      consider(Schedule(trace_, curve_, candidates_, options_).run(target), headroom);
    };
    if (!options_.autotunes) {
      attempt(0);
    } else {
      for (const double headroom : kHeadrooms) {
        attempt(headroom);
        if (best_->cost <= trace_.duration)
          break;  // no transfer delays the step; more headroom would only move more bytes
      }
      refine(attempt);
    }
    if (options_.recomputes) recompute();
    return *best_;
  }

 private:
  // Bisects the interval below the best headroom: less headroom moves fewer bytes.
  template <class Try>
  void refine(Try attempt) {
    double step = 0;
    for (const double headroom : kHeadrooms) {
      if (headroom >= best_->headroom) break;
      step = best_->headroom - headroom;
    }
    for (int refinement = 0; refinement < kRefinements && step > 0; ++refinement) {
      step /= 2;
      attempt(best_->headroom - step);
    }
  }

  bool consider(Plan plan, double headroom) {
    const Simulation result = simulate(trace_, plan, options_.simulator());
    const int unplanned = result.unplanned_reads + result.unplanned_writes;
    Attempt attempt = {std::move(plan), result.is_feasible,
                       result.seconds + kUnplannedCost * trace_.duration * unplanned, headroom,
                       result.written + result.read};
    const bool is_better = !best_ || attempt.is_better_than(*best_);
    if (is_better) best_ = std::move(attempt);
    return is_better;
  }

  // Replaces swaps by recomputation, those with the largest saving per second first, as long as that shortens the step
  // and is feasible.
  void recompute() {
    std::map<std::pair<int, int>, const Candidate*> by_interval;
    for (const Candidate& candidate : candidates_) {
      if (candidate.recompute_seconds < 0) continue;
      by_interval[{candidate.block, candidate.interval.next_use}] = &candidate;
    }
    std::vector<std::pair<double, std::size_t>> swaps;  // saving, index of the decision
    const Plan& plan = best_->plan;
    for (std::size_t index = 0; index < plan.decisions.size(); ++index) {
      const auto found =
          by_interval.find({plan.decisions[index].block, plan.decisions[index].next_use});
      if (found == by_interval.end()) continue;
      const Candidate& candidate = *found->second;
      const double transfers = candidate.write_seconds + candidate.read_seconds;
      if (!options_.prefers_recompute && candidate.recompute_seconds >= transfers) continue;
      swaps.emplace_back(transfers / std::max(candidate.recompute_seconds, 1e-9), index);
    }
    std::stable_sort(swaps.begin(), swaps.end(),
                     [](const auto& left, const auto& right) { return left.first > right.first; });
    const Plan swapped = plan;
    for (std::size_t count = swaps.size(); count > 0; count /= 2) {
      Plan changed = with_recompute(swapped, swaps, count);
      if (!options_.prefers_recompute) {
        consider(std::move(changed), best_->headroom);
      } else if (simulate(trace_, changed, options_.simulator()).is_feasible) {
        best_->plan = std::move(changed);
        return;
      }
    }
  }

  // The plan with the first `count` swaps replaced. Inputs of chains that are out at that time are read earlier. A swap
  // stays if an input is recomputed itself.
  Plan with_recompute(Plan plan, const std::vector<std::pair<double, std::size_t>>& swaps,
                      std::size_t count) const {
    std::multimap<int, Decision*> moves;  // by block
    for (Decision& decision : plan.decisions) moves.emplace(decision.block, &decision);
    std::set<int> recomputed, needed;  // blocks; inputs of chains
    for (std::size_t index = 0; index < count; ++index) {
      Decision& decision = plan.decisions[swaps[index].second];
      const auto chain = rules_.chain(decision.block, decision.next_use);
      const std::vector<int>& inputs = chain->inputs;
      const bool is_possible = !needed.contains(decision.block) &&
                               std::none_of(inputs.begin(), inputs.end(),
                                            [&](int input) { return recomputed.contains(input); });
      if (!is_possible) continue;
      for (const int input : inputs) {
        const auto [first, last] = moves.equal_range(input);
        for (auto move = first; move != last; ++move) read_before(decision.next_use, *move->second);
      }
      decision.action = Action::kRecompute;
      decision.codec = Codec::kNone;
      decision.free_by = decision.last_use + 1;
      decision.read_before = decision.next_use;
      recomputed.insert(decision.block);
      needed.insert(inputs.begin(), inputs.end());
    }
    return plan;
  }

  // The block of `move` is needed at the start of an operator, possibly while it is out.
  void read_before(int op, Decision& move) const {
    if (op < move.free_by || op >= move.next_use || !move.is_needed) return;
    const Block& block = trace_.blocks[static_cast<std::size_t>(move.block)];
    const double start =
        start_time(trace_, op) - options_.tier.read_seconds(stored_size(block, move.codec));
    int latest = op;
    while (latest > move.free_by && start_time(trace_, latest) > start) --latest;
    move.read_before = std::min(move.read_before, latest);
  }

  const Trace& trace_;
  const PlannerOptions& options_;
  const MemoryCurve curve_;
  const std::vector<Lifetime> lifetimes_;
  const RecomputeRules rules_;
  const std::vector<Candidate> candidates_;
  std::optional<Attempt> best_;
};

}  // namespace

void check_budget(const Trace& trace, const PlannerOptions& options) {
  const Requirement requirement = minimum_budget(trace, options.movable);
  if (requirement.bytes <= options.budget) return;
  const std::string name =
      requirement.op < 0
          ? "the start of the step"
          : fmt::format("operator {} ({})", requirement.op,
                        trace.operators[static_cast<std::size_t>(requirement.op)].name);
  const std::string hint = options.movable.with_persistent
                               ? ""
                               : ", or mode=full, which also moves parameters and optimizer state";
  throw MemoryError(
      "DDL-5-63",
      fmt::format("The LMS budget of {} is too small: {} has a working set of {}, and {} may not "
                  "move. Use a budget of at least {}{}.",
                  rounded_bytes(options.budget), name, rounded_bytes(requirement.working_set),
                  rounded_bytes(requirement.bytes - requirement.working_set),
                  rounded_up_bytes(requirement.bytes), hint));
}

Plan make_plan(const Trace& trace, const PlannerOptions& options) {
  check_budget(trace, options);
  const double limit = static_cast<double>(options.budget) * options.fraction;
  if (static_cast<double>(peak_bytes(trace)) <= limit) {
    Plan plan;
    plan.hash = trace.hash();
    plan.budget = options.budget;
    return plan;
  }
  Attempt best = PlanSearch(trace, options).run();
  const bool has_codecs = std::any_of(trace.blocks.begin(), trace.blocks.end(),
                                      [](const Block& block) { return block.stored_bytes > 0; });
  if (options.compacts && has_codecs) {  // codecs take time and memory
    PlannerOptions plain = options;
    plain.compacts = false;
    Attempt attempt = PlanSearch(trace, plain).run();
    if (attempt.is_better_than(best)) best = std::move(attempt);
  }
  return best.plan;
}

void advance_reads(Plan& plan, const Trace& trace, const std::vector<Lateness>& observed) {
  std::map<std::pair<int, int>, double> waits;
  for (const Lateness& lateness : observed)
    waits[{lateness.block, lateness.next_use}] += lateness.seconds;
  for (Decision& decision : plan.decisions) {
    const auto wait = waits.find({decision.block, decision.next_use});
    if (wait == waits.end() || decision.action != Action::kSwap || !decision.is_needed) continue;
    const double start = start_time(trace, decision.read_before) - kLatenessFactor * wait->second;
    while (decision.read_before > decision.free_by &&
           start_time(trace, decision.read_before) > start) {
      --decision.read_before;
    }
  }
}

}  // namespace tutti::lms
