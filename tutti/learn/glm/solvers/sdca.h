// Stochastic dual coordinate ascent (SDCA): one dual variable per row, updated to its optimum in random order.
//
// Rows are grouped into buckets, which are shuffled in each epoch and divided among replicas. A replica processes its
// buckets with a private copy of the weights. It scales its updates by the number of replicas (the aggregation
// parameter of CoCoA), so the changes of all replicas can be averaged safely a few times per epoch. The number of
// replicas depends only on the data, so results are bitwise identical for any number of threads.
//
// Ranks are a second level of replicas (hierarchical CoCoA). They exchange changes after several rounds; the number of
// rounds is chosen from the measured durations of a round and an exchange. Rows of a file are shuffled within each
// chunk, and ranks exchange once per epoch.
//
// An unpenalised intercept is a column whose weight has a proximal term towards its value in the previous epoch instead
// of a penalty towards 0.
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

// For losses with has_dual_step, l2 > 0 and no l1.
template <class T>
Solution solve_sdca(Problem<T>& problem, Tracker& tracker);

}  // namespace tutti::learn
