// Sums over rows of f32 with the digits of f64.
#pragma once

#include <vector>

#include "tutti/learn/glm/design/dense_design.h"
#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

struct PreciseSums {
  double loss = 0;
  std::vector<double> gradient;       // of the columns, then of the intercept
  std::vector<double> first, second;  // derivatives of the loss of every row
};

// At `weights` with the intercept last, of columns that are `shift` less (empty: as they are).
// Margins, losses and sums are f64; the rows stay where they are, and all must be in memory.
template <class T>
PreciseSums f64_sums(const Problem<T>& problem, const DenseDesign<T>& design,
                     const std::vector<double>& weights, const std::vector<T>& shift);

}  // namespace tutti::learn
