// State of the Newton-CG solvers: the weights and, per row, the margin, its change along the direction, and the
// derivatives of the loss.
#pragma once

#include <limits>
#include <vector>

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

template <class T>
struct CgState {
  // `columns_`: number of weights; by default the columns of the design.
  CgState(Problem<T>& problem_, Tracker& tracker_)
      : CgState(problem_, tracker_, problem_.design.columns()) {}
  CgState(Problem<T>& problem_, Tracker& tracker_, std::int64_t columns_);

  // Sets coefficients and intercept from the start values of the options. Returns whether there are any.
  bool take_start();
  // Returns the loss at the margins `at` and sets the derivatives of each row.
  double evaluate(const std::vector<T>& at);
  double sum_of(const std::vector<T>& rows) const;
  // Minimises over an unpenalised intercept with the other weights fixed; `penalty` is theirs. Needs no pass over the
  // data. Afterwards the derivatives of the rows sum to 0, and the objective is a function of the penalised weights
  // alone.
  void find_intercept(double penalty, int most_steps = 20, double resolution = 1e-16);

  Problem<T>& problem;
  Tracker& tracker;
  DesignMatrix<T>& design;
  std::int64_t columns;
  std::vector<double> weights;  // one per column, then the intercept
  double objective = 0, bound = -std::numeric_limits<double>::infinity(), gap = 0;
  // Per row: margin, trial margin, change along the direction, change along one search direction, first and second
  // derivative of the loss.
  std::vector<T> margins, trial, moves, step_products, first, second;
};

}  // namespace tutti::learn
