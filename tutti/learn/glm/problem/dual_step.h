// Closed-form and Newton updates of one dual variable, for SDCA.
#pragma once

#include <algorithm>
#include <cmath>

#include "tutti/learn/glm/problem/loss.h"

namespace tutti::learn {

constexpr bool has_dual_step(Loss loss) {
  return loss != Loss::kPoisson && loss != Loss::kGamma;
}

// Maximises the dual objective over the variable `a` of one row, with all others fixed. `a` is minus the derivative of
// the weighted loss; increasing it by 1 increases the margin of the row by `lift` > 0. Returns the new value.
inline double dual_step(Loss loss, double a, double margin, double label, double weight,
                        double lift) {
  if (weight <= 0) return 0;
  const double z = label * margin, signed_a = label * a;  // for classification losses
  switch (loss) {
    case Loss::kSquared: return a + (label - a / weight - margin) / (1 / weight + lift);
    case Loss::kHinge: return label * std::clamp(signed_a + (1 - z) / lift, 0.0, weight);
    case Loss::kSquaredHinge: {
      const double soft = 1 / (2 * weight);
      return label * std::max(0.0, signed_a + (1 - z - signed_a * soft) / (soft + lift));
    }
    case Loss::kLogistic: {
      // With u the margin after the step, the variable is weight / (1 + exp(u)), and u solves u = z + lift * (that -
      // before). Newton's method, bracketed by the margins for 0 and `weight`.
      double low = z - lift * signed_a, high = z + lift * (weight - signed_a);
      double u = std::clamp(z, low, high);
      for (int step = 0; step < 60; ++step) {
        const double p = 1 / (1 + std::exp(u)), after = weight * p;
        const double rest = u - z - lift * (after - signed_a);
        (rest > 0 ? high : low) = u;
        double next = u - rest / (1 + lift * after * (1 - p));
        if (!(next > low && next < high)) next = (low + high) / 2;
        const double move = std::abs(next - u);
        u = next;
        if (move < 1e-7 * (1 + std::abs(u))) break;
      }
      return label * weight / (1 + std::exp(u));
    }
    default: return a;
  }
}

}  // namespace tutti::learn
