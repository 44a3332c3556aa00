// What every way into a fit shares: the checks, the choice of the solver, the call of it.
#pragma once

#include <span>

#include "tutti/learn/glm/problem/options.h"
#include "tutti/learn/glm/problem/problem.h"

namespace tutti::learn {

struct Shape {
  std::int64_t rows = 0, columns = 0;
  bool is_sparse = false;

  // The same with the rows of all ranks, who then choose alike.
  Shape over(comm::Communicator* ranks) const;
};

// Throw ConfigError as `fit` says: the first two for what is asked and given, the last when the
// solver is not made for it.
void check_options(const Shape& shape, std::span<const double> labels,
                   std::span<const double> weights, const GlmOptions& options);
// The part of it that every fit needs: penalties and tolerance, the weights of rows, and that there
// is something to learn from.
void check_weights(std::int64_t rows, std::span<const double> weights, const GlmOptions& options);
void check_solver(const Shape& shape, const GlmOptions& options, Solver solver);
Solver choose_solver(const Shape& shape, const GlmOptions& options);

// `by_columns` is the matrix for kWorkingSet, which needs nothing of the design but its rows, and
// null for the others.
template <class T>
GlmModel solve(DesignMatrix<T>& design, const Matrix* by_columns, std::span<const double> labels,
               std::span<const double> weights, const GlmOptions& options, Solver solver);

}  // namespace tutti::learn
