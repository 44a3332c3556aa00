// Newton steps on a dense file that is larger than memory.
//
// Reading the file costs as much as many passes over the resident rows. Therefore the direction minimises the quadratic
// model with the exact gradient and the Hessian of the resident rows only. One pass over the file then computes
// everything else: the products of the direction with the rows, the exact Hessian product and hence the bound, and the
// gradient at the end of the full step.
//
// The first pass is divided into parts. It starts at w_0, the optimum of the resident rows. Part j is evaluated at w_j,
// where its losses have the gradient g_j. Then the weights move to the minimum of the quadratic model of all rows so
// far, computed with the preconditioner without a pass; later parts are therefore evaluated closer to the optimum. In
// that model, part j with the fraction n_j of the rows contributes
//   g_j (w - w_j) + n_j (w - w_j)^T H (w - w_j) / 2,
// where H is the Hessian of all rows, estimated from the resident rows. After the last part, the resident rows are
// evaluated at the new weights, and one step with their Hessian follows.
//
// The remaining gap is proportional to the difference between H and the Hessian of each part, times the distance of w_j
// from the optimum. docs/measurements/learn-linear.md has the bytes read with and without these two measures.
#pragma once

#include <vector>

#include "tutti/learn/glm/solvers/quadratic_model.h"

namespace tutti::learn {

template <class T>
class StreamedNewton {
 public:
  explicit StreamedNewton(QuadraticModel<T>& model) : model_(model) {}

  // Whether there are enough resident rows for a Hessian.
  bool has_enough_residents() const;
  // Moves from the optimum of the resident rows to that of nearly all rows, in one pass over the other chunks.
  void read_in_parts();
  // Computes a direction from the resident rows, then makes one pass over all rows. Returns the predicted gain.
  double find_direction();

  std::vector<T> next_gradient;  // of the losses, at the end of the full step

 private:
  double find_direction_of_residents(double forcing);
  // Estimates the Hessian of all rows from the resident rows, which were evaluated last.
  void precondition_by_residents();
  // `gradients` are those of the other rows at the points where they were evaluated; `way` is the distance from there
  // to the current weights.
  void step_from_parts(const std::vector<double>& gradients, const std::vector<T>& way);
  void read_step();

  QuadraticModel<T>& model_;
};

}  // namespace tutti::learn
