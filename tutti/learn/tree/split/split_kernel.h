// What is done to each column of each node with the widest vectors the processor has: finding the
// best place to cut its sums in two.
#pragma once

#include <cstdint>

namespace tutti::learn::tree {

struct SplitScan {
  const double* gradients;  // of what lies left of each cut, readable up to the next multiple of 16
  const double* hessians;
  int candidates;
  double gradient, hessian;  // of both sides together
  double l2;
  double least;  // both sides must have this much hessian
};

struct SplitCandidate {
  int at = -1;  // -1: no cut is allowed
  double score = 0;
};

// The first cut with the greatest sum over both sides of gradient^2 / (hessian + l2). The same bits
// on every processor.
SplitCandidate best_split(const SplitScan& problem);

inline constexpr int kMaxCandidates = 256;

// A column of kNarrow (see histogram.h), all in units of the sums.
struct PackedSplitScan {
  const std::uint64_t* left;  // the word of what lies left of each cut, readable up to the next
                              // multiple of 16
  int candidates;
  std::int64_t gradient, hessian;  // of both sides together
  double l2;
  std::int64_t least, most;  // the left side's hessian must lie between them, both above 0
};

// Which cuts may have the greatest score: those whose score in f32 is within its error of the best,
// ascending. `chosen` has room for 16 more than there are cuts. Returns how many.
int screen_splits(const PackedSplitScan& problem, std::int32_t* chosen);

}  // namespace tutti::learn::tree
