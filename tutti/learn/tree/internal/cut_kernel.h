// The best place to cut a row of sums in two.
#pragma once

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

}  // namespace tutti::learn::tree
