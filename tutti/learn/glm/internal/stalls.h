// When rounding decides: iterations in a row without a gain that the type of the rows can tell.
#pragma once

#include <cmath>

namespace tutti::learn {

template <class T>
class Stalls {
 public:
  explicit Stalls(int most) : most_(most) {}
  void note(double before, double after) {
    constexpr double kTold = sizeof(T) == 4 ? 1e-9 : 1e-15;  // share of the objective
    count_ = after < before - kTold * std::abs(after) ? 0 : count_ + 1;
  }
  int count() const { return count_; }
  bool are_too_many() const { return count_ >= most_; }

 private:
  int most_, count_ = 0;
};

}  // namespace tutti::learn
