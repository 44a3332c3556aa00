#include "tutti/learn/glm/problem/conjugate.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tutti::learn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double times_log(double x) {
  return x > 0 ? x * std::log(x) : 0;
}

// Interval in which the conjugate is finite.
struct Range {
  double low = -kInfinity, high = kInfinity;
};

Range range_of(Loss loss, double label) {
  switch (loss) {
    case Loss::kLogistic:
    case Loss::kHinge: return label > 0 ? Range{-1, 0} : Range{0, 1};
    case Loss::kSquaredHinge: return label > 0 ? Range{-kInfinity, 0} : Range{0, kInfinity};
    case Loss::kPoisson: return {-label, kInfinity};
    case Loss::kGamma: return {-kInfinity, 1};
    case Loss::kSquared: break;
  }
  return {};
}

}  // namespace

double conjugate(Loss loss, double s, double label, double weight) {
  if (weight <= 0) return s == 0 ? 0 : kInfinity;
  s /= weight;
  const Range range = range_of(loss, label);
  constexpr double kSlack = 1e-6;  // sums in f32 may end slightly outside
  if (s < range.low - kSlack || s > range.high + kSlack) return kInfinity;
  s = std::clamp(s, range.low, range.high);
  const double against = -label * s;  // for classification losses
  switch (loss) {
    case Loss::kSquared: return weight * (s * s / 2 + s * label);
    case Loss::kLogistic: return weight * (times_log(against) + times_log(1 - against));
    case Loss::kHinge: return -weight * against;
    case Loss::kSquaredHinge: return weight * (against * against / 4 - against);
    case Loss::kPoisson: return weight * (times_log(s + label) - (s + label));
    case Loss::kGamma: return s < 1 ? weight * ((1 - s) * std::log((1 - s) / label) - (1 - s)) : 0;
  }
  return kInfinity;
}

double max_feasible_step(Loss loss, double s, double move, double label, double weight) {
  if (weight <= 0) return 1;
  const Range range = range_of(loss, label);
  const double limit = (move > 0 ? range.high : range.low) * weight;
  if (move > 0 ? s + move <= limit : s + move >= limit) return 1;
  return std::clamp(0.999 * (limit - s) / move, 0.0, 1.0);
}

}  // namespace tutti::learn
