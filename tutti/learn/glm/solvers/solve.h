// Common part of all fits of linear models: checks, choice of the solver, dispatch.
#pragma once

#include <span>

#include "tutti/learn/glm/problem/options.h"
#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

struct Shape {
  std::int64_t rows = 0, columns = 0;
  std::int64_t entries = 0;  // 0: unknown
  bool is_sparse = false, is_streamed = false;

  // The shape with the rows of all ranks, so all ranks make the same choice. Throws ConfigError on all ranks if they
  // differ in the number of columns.
  Shape over(comm::Communicator* ranks) const;
};

// Throw ConfigError as documented for `fit`: check_options and check_weights for invalid inputs, check_solver if the
// solver does not support the problem.
void check_options(const Shape& shape, std::span<const double> labels,
                   std::span<const double> weights, const GlmOptions& options);
// Checks common to all fits: penalties, tolerance and sample weights are valid, and there are rows.
void check_weights(std::int64_t rows, std::span<const double> weights, const GlmOptions& options);
void check_solver(const Shape& shape, const GlmOptions& options, Solver solver);

struct SolverChoice {
  Solver solver;
  std::string why;  // a short sentence
};
SolverChoice choose_solver(const Shape& shape, const GlmOptions& options);

// Throws ConfigError (DDL-9-01) if a sum has overflowed: a number is not finite, or the gap is NaN.
void check_finite(std::span<const double> coefficients, std::span<const double> intercepts,
                  double objective, double dual_gap);

// `by_columns` is the CSC matrix for kWorkingSet, which uses only the rows of the design; null for other solvers.
template <class T>
GlmModel solve(DesignMatrix<T>& design, const Matrix* by_columns, std::span<const double> labels,
               std::span<const double> weights, const GlmOptions& options, Solver solver);

}  // namespace tutti::learn
