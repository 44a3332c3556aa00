// Lifetimes and idle intervals of the blocks of a trace.
#pragma once

#include <vector>

#include "tutti/lms/trace.h"

namespace tutti::lms {

// Lifetime of one block in operator indices; N is the number of operators of the step.
struct Lifetime {
  int allocated =
      -1;  // the operator that allocates it, or before which it is allocated; -1: persistent
  int freed =
      0;  // the operator that frees it, or before which it is freed; N: after the last operator
  bool outlives_step = false;  // not freed in the step; `freed` is N
  std::vector<int>
      uses;  // operators during which it must be resident, ascending; includes `allocated`
};

// An interval in which a block is not used: from the end of operator `last_use` (-1: start of the step) to the start of
// operator `next_use`. At least one operator runs in between. Indices at or above N belong to the next step.
struct IdleInterval {
  int last_use = 0, next_use = 0;
  bool is_needed =
      true;  // the content is used afterwards; false: only freed, or kept beyond the step

  bool operator==(const IdleInterval&) const = default;
};

// One lifetime per block. The trace must be valid.
std::vector<Lifetime> lifetimes_of(const Trace& trace);

// Idle intervals of a block, ascending. The last one of a persistent block that outlives the step ends at its first use
// in the next step. Its first operators are therefore not a separate interval.
std::vector<IdleInterval> idle_intervals(const Lifetime& lifetime, const Trace& trace);

}  // namespace tutti::lms
