// What is done to each column of each node with the widest vectors the processor has: reading its
// sums, and finding the best place to cut them in two.
#pragma once

#include <cstdint>

namespace tutti::learn::tree {

struct CutProblem {
  const double* gradients;  // of what lies left of each cut, readable up to the next multiple of 16
  const double* hessians;
  int cuts;
  double gradient, hessian;  // of both sides together
  double l2;
  double least;  // both sides must have this much hessian
};

struct Cut {
  int at = -1;  // -1: no cut is allowed
  double score = 0;
};

// The first cut with the greatest sum over both sides of gradient^2 / (hessian + l2). The same bits
// on every processor.
Cut best_cut(const CutProblem& problem);

// Words of kNarrow (see histogram.h), one for each bin.
struct WordsProblem {
  const std::uint64_t* words;
  int bins;
  double gradient_unit, hessian_unit;
};

// Of the words that are not 0, in order: their bins and their sums in units of the data. Returns
// how many there are. Targets have room for 16 more than `bins`.
int read_words(const WordsProblem& problem, std::int64_t* bins, double* gradients,
               double* hessians);

}  // namespace tutti::learn::tree
