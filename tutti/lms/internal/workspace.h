// Workspace of operators in traces of different input sizes.
//
// Libraries choose the algorithm of an operator by its shapes, and algorithms allocate workspace in different pieces.
// Two traces whose operators agree otherwise become comparable if such an operator has one block of workspace instead.
#pragma once

#include <vector>

#include "tutti/lms/trace.h"

namespace tutti::lms {

// Merges the workspace of every operator that allocates different pieces in the two traces, in both of them. The merged
// block is as large as the pieces that exist at a time, and exists while the operator runs. Returns its index for each
// of these operators, the same in both traces. Leaves traces alone that have different operators.
std::vector<int> merge_different_workspaces(Trace& left, Trace& right);

}  // namespace tutti::lms
