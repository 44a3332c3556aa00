// Vector kernels that find the best split of a column from its cumulative sums.
#pragma once

#include <cstdint>

namespace tutti::learn::tree {

struct SplitScan {
  const double*
      gradients;  // of the left side of each candidate, readable up to the next multiple of 16
  const double* hessians;
  int candidates;
  double gradient, hessian;  // of both sides together
  double l2;
  double least;  // minimum hessian of each side
};

struct SplitCandidate {
  int at = -1;  // index of the candidate; -1: no split is allowed
  double score = 0;
};

// Returns the first candidate with the highest sum over both sides of gradient^2 / (hessian + l2). Bitwise identical on
// every CPU.
SplitCandidate best_split(const SplitScan& problem);

inline constexpr int kMaxCandidates = 256;

// A column of a kNarrow histogram (histogram.h), in units of the integer sums.
struct PackedSplitScan {
  const std::uint64_t*
      left;  // packed sums of the left side of each candidate, readable up to the next multiple of 16
  int candidates;
  std::int64_t gradient, hessian;  // of both sides together
  double l2;
  std::int64_t least, most;  // limits of the hessian of the left side, both above 0
};

// Selects the candidates that may have the highest score: those whose score in f32 is within its error of the best,
// ascending. `chosen` has room for candidates + 16. Returns their number.
int screen_splits(const PackedSplitScan& problem, std::int32_t* chosen);

}  // namespace tutti::learn::tree
