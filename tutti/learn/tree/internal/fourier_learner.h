// Ridge regression on random Fourier features, the other base learner of heterogeneous boosting.
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
  double gamma = 1;  // kernel exp(-gamma / columns * |standardised difference|^2)
  double l2 = 1;
  bool has_constant = false;
};

// Centre of each column and frequency scale of the features along it. Computed from the bins, so identical on all
// ranks. Categorical columns are ignored.
std::vector<FourierColumn> find_fourier_columns(const Bins& bins, double gamma);

// Fits a learner to the gradients: the Newton step of ridge regression, times `learning_rate`. Sums are fixed-point, so
// the result does not depend on the number of threads and ranks. `matrix` is dense or kCsr.
FourierLearner fit_fourier_learner(const Matrix& matrix, std::span<const FourierColumn> columns,
                                   const GradientTask& task, const FourierOptions& options,
                                   double learning_rate, Threads& threads,
                                   comm::Communicator* communicator);

// Adds the prediction of the learner for each row to scores[row * outputs + learner.output].
void add_fourier_scores(const Matrix& matrix, std::span<const FourierColumn> columns,
                        const FourierLearner& learner, std::span<double> scores, int outputs,
                        Threads& threads);

}  // namespace tutti::learn::tree
