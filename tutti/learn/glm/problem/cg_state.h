// State of a solver that goes along directions: its weights, and of every row the margin, what a
// direction adds to it, and the derivatives of the loss there.
#pragma once

#include <limits>
#include <vector>

#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

template <class T>
struct CgState {
  // `columns_`: those of the weights; by default of the design.
  CgState(Problem<T>& problem_, Tracker& tracker_)
      : CgState(problem_, tracker_, problem_.design.columns()) {}
  CgState(Problem<T>& problem_, Tracker& tracker_, std::int64_t columns_);

  // Coefficients and intercept that the options give to start with; whether they do.
  bool take_start();
  // The loss at the margins `at`; sets the derivatives of each row.
  double evaluate(const std::vector<T>& at);
  double sum_of(const std::vector<T>& rows) const;
  // Puts a free intercept where it belongs with the other weights, whose `penalty` is known, as
  // they are; needs no pass. Then the derivatives of the rows sum to 0, and the objective is a
  // function of the penalised weights alone.
  void find_intercept(double penalty, int most_steps = 20, double resolution = 1e-16);

  Problem<T>& problem;
  Tracker& tracker;
  DesignMatrix<T>& design;
  std::int64_t columns;
  std::vector<double> weights;  // one per column, then the intercept
  double objective = 0, bound = -std::numeric_limits<double>::infinity(), gap = 0;
  // Per row: margins, those of a trial, what the direction adds, what one search direction adds.
  std::vector<T> margins, trial, moves, step_products, first, second;
};

}  // namespace tutti::learn
