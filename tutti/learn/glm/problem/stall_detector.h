// Stall detection: counts consecutive iterations without a gain above the resolution of the type.
#pragma once

#include <cmath>

namespace tutti::learn {

template <class T>
class StallDetector {
 public:
  explicit StallDetector(int most) : most_(most) {}
  void note(double before, double after) {
    constexpr double kResolution = sizeof(T) == 4 ? 1e-9 : 1e-15;  // fraction of the objective
    count_ = after < before - kResolution * std::abs(after) ? 0 : count_ + 1;
  }
  int count() const { return count_; }
  bool is_stalled() const { return count_ >= most_; }

 private:
  int most_, count_ = 0;
};

}  // namespace tutti::learn
