// Ridge regression on random Fourier features, as a learner beside trees in boosting.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tutti/learn/tree/bins/bins.h"
#include "tutti/learn/tree/internal/gradients.h"
#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

struct FourierOptions {
  int components = 10;
  double gamma = 1;  // width of the kernel: exp(-gamma / columns * |difference in spreads|^2)
  double l2 = 1;
  bool has_constant = false;
};

// Where the middle of each column is, and how fast the features oscillate along it; from the bins,
// so the same on all ranks. Categorical columns have none.
std::vector<FourierColumn> find_fourier_columns(const Bins& bins, double gamma);

// Fits a learner to the gradients: the Newton step of ridge regression, times `learning_rate`. Sums
// are of whole numbers: the same for any number of threads and ranks. `matrix` is dense or
// kCsr.
FourierLearner fit_fourier_learner(const Matrix& matrix, std::span<const FourierColumn> columns,
                                   const GradientTask& task, const FourierOptions& options,
                                   double learning_rate, Threads& threads,
                                   comm::Communicator* communicator);

// Adds the learner's value of each row to scores[row * outputs + learner.output].
void add_fourier_scores(const Matrix& matrix, std::span<const FourierColumn> columns,
                        const FourierLearner& learner, std::span<double> scores, int outputs,
                        Threads& threads);

}  // namespace tutti::learn::tree
