// Gradient boosting: every tree corrects the sum of those before it.
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
  // softmax only: each class's own curvature is taken this many times. 1: scikit-learn's steps; 2:
  // half of them, as XGBoost's, for a step of one class moves the others too.
  double class_curvature = 1;
  double alpha = 0.5;  // quantile only
  int rounds = 100;    // each adds one tree for every output
  double learning_rate = 0.1;
  int max_depth = 0, max_leaves = 31;  // 0: no limit
  // Every tree's depth is drawn from [min_max_depth, max_depth]; 0: it is max_depth.
  int min_max_depth = 0;
  double min_samples_leaf = 20;  // estimated from hessians
  double min_child_weight = 1e-3;
  double l2 = 0, min_gain = 0;
  double max_step = 0;   // of a leaf's value; 0: no limit
  double subsample = 1;  // share of rows each tree sees
  // Heterogeneous boosting: a round adds trees with this probability, else ridge regression on
  // random Fourier features, which approximate a kernel exp(-gamma / columns * distance^2) between
  // rows, each column measured in its own spread.
  double tree_probability = 1;
  int fourier_components = 10;
  double fourier_gamma = 1, fourier_l2 = 1;
  bool fourier_constant = false;
  double columns_per_tree = 1;       // share
  int columns_per_node = 0;          // 0: all
  std::optional<double> base_score;  // instead of that from the labels, before the link
  int early_stopping_rounds = 0;     // 0: none; else a validation set is needed
  double early_stopping_tolerance = 0;
  bool is_exact = false;  // gradients in 31 bits instead of about 11, as for few rows; slower
  std::uint64_t seed = 0;
  BinOptions bins = {};
  bool exact_splits = false;      // as in ForestOptions
  std::int64_t memory_limit = 0;  // as in ForestOptions; a validation set is in memory
  // Called after every round with its number and the losses; false ends the training, and what is
  // there is returned.
  std::function<bool(int round, double validation_loss)> progress = {};
};

struct ValidationSet {
  Matrix matrix;
  Targets targets;
};

struct Boosted {
  Model model;
  std::vector<double> validation_losses;  // mean over the set after each round
  int best_round = 0;                     // rounds in the model
};

// The same model for any number of threads and, with a communicator (each rank brings its rows of
// both sets), of ranks. Throws ConfigError (DDL-9-20) when labels, weights or options are wrong.
Boosted train_boosting(const Matrix& matrix, const Targets& targets, const BoostOptions& options,
                       Threads& threads, const ValidationSet* validation = nullptr,
                       comm::Communicator* communicator = nullptr);

}  // namespace tutti::learn::tree
