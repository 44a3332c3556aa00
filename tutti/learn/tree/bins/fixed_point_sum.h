// Fixed-point sums of floating-point numbers, independent of their order.
#pragma once

#include <cmath>
#include <cstdint>

namespace tutti::learn::tree {

// For up to `count` numbers of magnitude at most `greatest`.
class FixedPointSum {
 public:
  FixedPointSum(double greatest, std::int64_t count) {
    int exponent = 0;
    std::frexp(greatest, &exponent);
    int bits = 0;
    while ((std::int64_t{1} << bits) < count) ++bits;
    unit_ = std::ldexp(1.0, exponent + bits - 62);
  }
  std::int64_t units(double value) const { return std::llround(value / unit_); }
  double value(std::int64_t units) const { return static_cast<double>(units) * unit_; }

 private:
  double unit_;
};

}  // namespace tutti::learn::tree
