// Convex conjugates of the losses, for the dual objective.
#pragma once

#include "tutti/learn/glm/problem/loss.h"

namespace tutti::learn {

// sup over m of s * m - weight * loss(m, label); may be infinite.
double conjugate(Loss loss, double s, double label, double weight);

// Returns the largest t <= 1 for which the conjugate is finite at s + t * move. It must be finite at s.
double max_feasible_step(Loss loss, double s, double move, double label, double weight);

}  // namespace tutti::learn
