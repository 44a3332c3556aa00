#include "tutti/lms/lifetimes.h"

#include <cstddef>

namespace tutti::lms {
namespace {

void record(const std::vector<MemoryEvent>& events, int position,
            std::vector<Lifetime>& lifetimes) {
  for (const MemoryEvent& event : events) {
    Lifetime& lifetime = lifetimes[static_cast<std::size_t>(event.block)];
    if (event.kind == EventKind::kFree) {
      lifetime.freed = position;
      lifetime.outlives_step = false;
      continue;
    }
    lifetime.allocated = position;
    lifetime.uses.push_back(position);
  }
}

}  // namespace

std::vector<Lifetime> lifetimes_of(const Trace& trace) {
  const int count = static_cast<int>(trace.operators.size());
  std::vector<Lifetime> lifetimes(trace.blocks.size(),
                                  {.freed = count, .outlives_step = true, .uses = {}});
  for (int index = 0; index < count; ++index) {
    const Operator& op = trace.operators[static_cast<std::size_t>(index)];
    record(op.events_before, index, lifetimes);
    for (const int block : op.uses) {
      auto& uses = lifetimes[static_cast<std::size_t>(block)].uses;
      if (uses.empty() || uses.back() != index) uses.push_back(index);
    }
    record(op.events, index, lifetimes);
  }
  record(trace.events_after, count, lifetimes);
  return lifetimes;
}

std::vector<IdleInterval> idle_intervals(const Lifetime& lifetime, const Trace& trace) {
  const int count = static_cast<int>(trace.operators.size());
  std::vector<IdleInterval> intervals;
  const auto add = [&](int last_use, int next_use, bool is_needed) {
    if (next_use > last_use + 1) intervals.push_back({last_use, next_use, is_needed});
  };
  for (std::size_t use = 1; use < lifetime.uses.size(); ++use) {
    add(lifetime.uses[use - 1], lifetime.uses[use], true);
  }
  const bool is_persistent = lifetime.allocated < 0;
  const int last_use = lifetime.uses.empty() ? -1 : lifetime.uses.back();
  if (is_persistent && lifetime.outlives_step && !lifetime.uses.empty()) {
    add(last_use, count + lifetime.uses.front(), true);
  } else {
    add(last_use, lifetime.freed, false);
  }
  return intervals;
}

}  // namespace tutti::lms
