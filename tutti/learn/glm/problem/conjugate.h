// The convex conjugates of the losses: what a point of the dual problem is worth.
#pragma once

#include "tutti/learn/glm/problem/loss.h"

namespace tutti::learn {

// sup over m of s * m - weight * loss(m, label); infinity where there is none.
double conjugate(Loss loss, double s, double label, double weight);

// The largest t <= 1 such that the conjugate is finite at s + t * move; it is at s.
double max_feasible_step(Loss loss, double s, double move, double label, double weight);

}  // namespace tutti::learn
