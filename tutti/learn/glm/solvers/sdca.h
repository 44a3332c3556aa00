// Stochastic dual coordinate ascent: one dual variable per row, each set to its best value in turn.
//
// Rows lie in buckets; every epoch deals the buckets anew to the replicas. A replica goes through
// its buckets with a copy of the weights of its own, in which its changes count `replicas` times,
// so that the changes of all can be added up safely a few times per epoch. How many replicas there
// are depends on the data only, so the bits do not depend on the threads. Ranks are replicas one
// level up (hierarchical CoCoA): they add up their changes after some rounds, in which their own
// changes count `ranks` times; how many is chosen from what a round and the adding up are measured
// to take. Rows of a file are dealt chunk by chunk, and its ranks meet once in an epoch.
//
// A free intercept is a column whose weight is drawn to where it was an epoch ago, not to 0.
#pragma once

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

// Losses with has_dual_step, l2 > 0, no l1.
template <class T>
Solution solve_sdca(Problem<T>& problem, Tracker& tracker);

}  // namespace tutti::learn
