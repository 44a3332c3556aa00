// The state and the steps of Newton's method by conjugate gradients; newton_cg.h says what they do.
#pragma once

#include <functional>
#include <vector>

#include "tutti/learn/glm/linalg/preconditioner.h"
#include "tutti/learn/glm/problem/cg_state.h"
#include "tutti/learn/glm/problem/stall_detector.h"

namespace tutti::learn {

template <class T>
class NewtonCg : CgState<T> {
 public:
  NewtonCg(Problem<T>& problem, Tracker& tracker)
      : CgState<T>(problem, tracker), preconditioner_(problem.design) {
    for (auto* vector :
         {&gradient_, &diagonal_, &direction_, &residual_, &search_, &curved_, &solved_})
      vector->resize(columns_ + 1);
  }

  Solution run();

 private:
  void start();
  bool select_sample();
  void run_stage(bool is_sample);
  bool step(double gain, bool is_sample);
  void correlate_at_start();
  void begin_stage();
  void set_ridge(double share);
  double look();
  double penalty(double share) const;
  void find_gradient();
  void finish_gradient(bool has_best_intercept);
  // Returns what the quadratic model gains by it. Steps go on until the residual has shrunk to
  // `forcing`.
  double find_direction(double forcing);
  // The same from the rows that stay in memory, then one reading of all rows for what the whole
  // step does: its products, its bound and the gradient where it leads.
  double find_direction_by_residents();
  double find_direction_of_residents(double forcing);
  bool are_residents_enough() const;
  // From the weights of the residents to those of nearly all rows, in one reading of the others.
  void read_in_parts();
  void step_from_parts(const std::vector<double>& slopes, const std::vector<T>& way);
  void precondition_by_residents();
  void read_step();
  void step_direction(double product, double& length);
  double multiply_hessian();
  double lower_bound();
  double squares_of_columns(double share, double rest);
  double search_line();
  double intercept_diagonal() const;
  double over_vectors(const std::function<double(std::int64_t, std::int64_t)>& body);
  double ridge_of(std::int64_t j) const { return j < columns_ ? ridge_ : intercept_ridge_; }

  using CgState<T>::problem_, CgState<T>::tracker_, CgState<T>::design_, CgState<T>::columns_;
  using CgState<T>::weights_, CgState<T>::objective_, CgState<T>::bound_, CgState<T>::gap_;
  using CgState<T>::margins_, CgState<T>::trial_, CgState<T>::moves_, CgState<T>::step_products_;
  using CgState<T>::first_, CgState<T>::second_, CgState<T>::evaluate, CgState<T>::sum_of;

  Preconditioner<T> preconditioner_;
  double ridge_ = 0, intercept_ridge_ = 0;
  double row_scale_ = 1;        // rows that each selected one stands for in products of the Hessian
  StallDetector<T> stalls_{0};  // of this stage
  bool by_residents_ = false, has_gradient_ = false;
  bool has_intercept_ = false, is_free_ = false, has_nothing_to_gain_ = false;
  std::vector<T> gradient_, diagonal_, direction_, residual_, search_, curved_, solved_;
  std::vector<T> next_gradient_;      // of the losses, where the whole step leads
  std::vector<T> curvature_columns_;  // of a free intercept: columns' sums of `second_`; or empty
};

}  // namespace tutti::learn
