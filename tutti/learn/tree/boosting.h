// Gradient boosting of decision trees.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tutti/learn/tree/bins/bins.h"
#include "tutti/learn/tree/model/model.h"
#include "tutti/learn/tree/targets.h"

namespace tutti::learn::tree {

struct BoostOptions {
  std::string objective = "squared_error";  // see objective.h
  int classes = 0;                          // softmax only
  // softmax only: factor of the diagonal hessian of a class. 1: scikit-learn; 2: XGBoost, whose steps are half as long,
  // because a step of one class also changes the others.
  double class_curvature = 1;
  double alpha = 0.5;  // quantile only
  int rounds = 100;    // each adds one tree per output
  double learning_rate = 0.1;
  int max_depth = 0, max_leaves = 31;  // 0: no limit
  // The depth limit of each tree is drawn from [min_max_depth, max_depth]; 0: always max_depth.
  int min_max_depth = 0;
  double min_samples_leaf = 20;  // estimated from hessians
  double min_child_weight = 1e-3;
  double l2 = 0, min_gain = 0;
  // Maximum |value| of a leaf before `learning_rate`. 0: 8 if scores are logarithms (logistic, poisson, softmax: 8 - 8
  // / classes), else no limit. A Newton step from a probability close to 0 is too long by orders of magnitude.
  double max_step = 0;
  double subsample = 1;  // fraction of the rows per tree
  // Heterogeneous boosting: a round adds trees with this probability, otherwise ridge regression on random Fourier
  // features, which approximate the RBF kernel exp(-gamma / columns * distance^2) of standardised columns.
  double tree_probability = 1;
  int fourier_components = 10;
  double fourier_gamma = 1, fourier_l2 = 1;
  bool fourier_constant = false;
  double columns_per_tree = 1;       // fraction
  int columns_per_node = 0;          // 0: all
  std::optional<double> base_score;  // initial score before the link; default: from the labels
  int early_stopping_rounds = 0;     // 0: off; requires a validation set
  double early_stopping_tolerance = 0;
  bool is_exact = false;  // gradients in 31 bits instead of about 11, as for few rows; slower
  std::uint64_t seed = 0;
  BinOptions bins = {};
  bool exact_splits = false;      // as in ForestOptions
  std::int64_t memory_limit = 0;  // as in ForestOptions; the validation set stays in memory
  // Called after every round with its number and the validation loss. Returning false ends training with the current
  // model.
  std::function<bool(int round, double validation_loss)> progress = {};
};

struct ValidationSet {
  Matrix matrix;
  Targets targets;
};

struct Boosted {
  Model model;
  std::vector<double> validation_losses;  // mean over the validation set after each round
  int best_round = 0;                     // number of rounds in the model
};

// The model is bitwise identical for any number of threads and ranks. With a communicator each rank passes its rows of
// both sets. Throws ConfigError (DDL-9-20) for invalid labels, weights or options.
Boosted train_boosting(const Matrix& matrix, const Targets& targets, const BoostOptions& options,
                       Threads& threads, const ValidationSet* validation = nullptr,
                       comm::Communicator* communicator = nullptr);

}  // namespace tutti::learn::tree
