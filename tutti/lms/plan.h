// Plan of one training step: swaps and recomputations of the blocks while they are idle.
//
// A plan belongs to the trace with the same hash. It lists only blocks that move; all others stay resident. `lms/hooks`
// executes it at operator boundaries. Blocks that the plan does not foresee are handled by the passive path: read at
// the pin, evicted at an allocation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/lms/trace.h"

namespace tutti::lms {

enum class Action { kSwap, kRecompute };

// One block in one idle interval (lifetimes.h), from the end of operator `last_use` to the start of operator
// `next_use`. last_use <= write_after < free_by <= read_before <= next_use. For persistent blocks the interval may
// extend into the next step: indices at or above the number of operators N mean operator (index - N) of the next step.
struct Decision {
  int block = 0;
  Action action = Action::kSwap;
  int last_use = 0;
  int write_after = 0;  // the write starts when this operator has ended
  int free_by =
      0;  // the memory is free when this operator starts; execution waits for the write if necessary
  int read_before =
      0;             // the read starts before this operator starts; recompute: the same as next_use
  int next_use = 0;  // the operator that needs the block
  bool is_needed = true;  // false: the block is not used again in the step, so nothing is read
  bool is_clean = false;  // the lower tier still has the content; nothing is written
  Codec codec = Codec::kNone;

  bool operator==(const Decision&) const = default;
};

struct Plan {
  std::uint64_t hash = 0;           // of the trace
  std::int64_t budget = 0;          // bytes
  std::vector<Decision> decisions;  // ascending by write_after, then by block

  bool operator==(const Plan&) const = default;
};

// Throws ConfigError (DDL-5-62) if the plan does not belong to the trace, or a decision is not within an idle interval
// of an existing block.
void validate(const Plan& plan, const Trace& trace);

// JSON text of a plan, and a plan from JSON text. plan_from_json throws ConfigError (DDL-5-62) if the text is
// malformed.
std::string to_json(const Plan& plan);
Plan plan_from_json(std::string_view text);

std::string_view name_of(Action action);

}  // namespace tutti::lms
