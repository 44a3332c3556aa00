// Split screening for two classes. Sums are packed into 32 bits: rows of class 1 in the upper 16, all rows in the lower
// 16. The sums of all columns for one bin are adjacent, so vectors process many columns at once.
#pragma once

#include <cstdint>

namespace tutti::learn::tree {

struct ClassScreen {
  std::uint32_t* words;       // kBins times `lanes`
  const std::uint32_t* less;  // subtracted from `words` first; nullptr: nothing
  int lanes;                  // columns, rounded up to 16 or 32
  std::int32_t ones, rows;    // of the node
  std::int32_t least, most;   // limits of the number of rows that go left
};

// Bound of the relative error of a score in f32: nine roundings of 2^-24 of sums of positive numbers.
inline constexpr float kScreenError = 1e-6F;

// Sets greatest[column] to the highest score (sum over both sides of ones^2 / rows) of a split between bins with
// missing values on the right; 0 if no split is allowed. `greatest` has room for `lanes`.
void screen_classes(const ClassScreen& problem, float* greatest);

}  // namespace tutti::learn::tree
