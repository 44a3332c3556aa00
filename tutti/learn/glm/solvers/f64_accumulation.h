// Mixed-precision sums: f32 rows accumulated in f64.
#pragma once

#include <vector>

#include "tutti/learn/glm/design/dense_design.h"
#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

struct F64Sums {
  double loss = 0;
  std::vector<double> gradient;       // per column, then of the intercept
  std::vector<double> first, second;  // derivatives of the loss, per row
};

// Evaluates at `weights` (the intercept last) with `shift` subtracted from the columns (empty: nothing). Margins,
// losses and sums are f64; the rows are not copied and must all be in memory.
template <class T>
F64Sums f64_sums(const Problem<T>& problem, const DenseDesign<T>& design,
                 const std::vector<double>& weights, const std::vector<T>& shift);

}  // namespace tutti::learn
