// Where a solver by conjugate gradients stands: its weights, and of every row the margin, what a
// direction adds to it, and the derivatives of the loss there.
#pragma once

#include <limits>
#include <vector>

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

template <class T>
class CgState {
 protected:
  CgState(Problem<T>& problem, Tracker& tracker);

  // Coefficients and intercept that the options give to start with; whether they do.
  bool take_start();
  // The loss at these margins; its derivatives are then those of each row.
  double evaluate(const std::vector<T>& margins);
  double sum_of(const std::vector<T>& rows) const;
  // Puts a free intercept where it belongs with the other weights, whose `penalty` is known, as
  // they are; needs no pass. Then the derivatives of the rows sum to 0, and the objective is a
  // function of the penalised weights alone.
  void find_intercept(double penalty);

  Problem<T>& problem_;
  Tracker& tracker_;
  DesignMatrix<T>& design_;
  std::int64_t columns_;
  std::vector<double> weights_;  // one per column, then the intercept
  double objective_ = 0, bound_ = -std::numeric_limits<double>::infinity(), gap_ = 0;
  // Per row: margins, those of a trial, what the direction adds, what one search direction adds.
  std::vector<T> margins_, trial_, moves_, step_products_, first_, second_;
};

}  // namespace tutti::learn
