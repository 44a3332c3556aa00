// Steps of Newton's method on a dense file that is larger than memory.
//
// Reading the file costs as much as many passes over the rows that stay in memory, the residents.
// So the direction comes from the quadratic model with the true gradient and the Hessian of the
// residents alone. One reading then gives all that is needed of it: its products with the rows, the
// true Hessian's product, hence the bound, and the gradient at the end of the whole step.
//
// The first reading goes in parts. At its start the weights are w_0, those of the residents. Part j
// is evaluated with weights w_j: its losses have the gradient g_j there. Then the weights move to
// the minimum of the quadratic model of all rows so far, by the preconditioner, which costs no
// pass: later parts are evaluated nearer to the optimum. Of part j with its share n_j of the rows
// that model has
//   g_j (w - w_j) + n_j (w - w_j)^T H (w - w_j) / 2,
// H being the Hessian of all rows as estimated by the residents. After the last part the residents
// are evaluated once more at the weights, and one step with their Hessian follows.
//
// The remaining gap comes from H not being that of each part, times the distance of w_j from the
// optimum. With w_0 alone, 400,000 x 2000 of `tutti bench glm` would leave four times the gap, and
// a bound twenty times as far.
//
// Bytes read from a file of 288 MB (120,000 x 600) with 112 MB of memory, to a relative gap of 1e-4:
// 0.97 GB; 1.19 GB without the reading in parts; 3.18 GB if directions come from all rows.
#pragma once

#include <vector>

#include "tutti/learn/glm/solvers/quadratic_model.h"

namespace tutti::learn {

template <class T>
class StreamedNewton {
 public:
  explicit StreamedNewton(QuadraticModel<T>& model) : model_(model) {}

  // Whether the selected rows suffice for a Hessian.
  bool has_enough_residents() const;
  // From the weights of the residents to those of nearly all rows, in one reading of the others.
  void read_in_parts();
  // Direction from the residents, then one reading of all rows. Returns the model's gain.
  double find_direction();

  std::vector<T> next_gradient;  // of the losses, at the end of the whole step

 private:
  double find_direction_of_residents(double forcing);
  // The Hessian of all rows, estimated by the residents, which were evaluated last.
  void precondition_by_residents();
  // `gradients` are those of the other rows, where they were evaluated; `way` leads from there
  // here.
  void step_from_parts(const std::vector<double>& gradients, const std::vector<T>& way);
  void read_step();

  QuadraticModel<T>& model_;
};

}  // namespace tutti::learn
