// Sums of two classes in 32 bits: rows of class 1 in the upper 16, all rows in the lower 16. The
// sums of all columns for one bin lie side by side, so that vectors go through the bins of many
// columns at once.
#pragma once

#include <cstdint>

namespace tutti::learn::tree {

struct ClassScreen {
  std::uint32_t* words;       // kBins times `lanes`
  const std::uint32_t* less;  // what is taken away from them first; nullptr: nothing
  int lanes;                  // 16 or 32: columns, rounded up
  std::int32_t ones, rows;    // of the node
  std::int32_t least, most;   // rows that may go left
};

// A score in f32 is no further from the true one than this part of it: each is made by nine
// roundings of 2^-24 of sums of positive numbers.
inline constexpr float kScreenError = 1e-6F;

// Sets greatest[column] to the greatest score, the sum over both sides of ones^2 / rows, that a cut
// between bins has when missing values go right; 0 where no cut is allowed. `greatest` has room for
// `lanes`.
void screen_classes(const ClassScreen& problem, float* greatest);

}  // namespace tutti::learn::tree
