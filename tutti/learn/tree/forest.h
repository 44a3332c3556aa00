// Decision trees, random forests and extra trees.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tutti/learn/tree/bins/bins.h"
#include "tutti/learn/tree/model/model.h"
#include "tutti/learn/tree/targets.h"

namespace tutti::learn::tree {

struct ForestOptions {
  int trees = 1;
  int classes = 0;  // 0: regression
  bool uses_entropy = false;
  int max_depth = 0, max_leaves = 0;  // 0: no limit
  double min_samples_leaf = 1, min_samples_split = 2;
  double min_weight_leaf = 0;  // sum of weights
  double min_gain = 0;
  int columns_per_node = 0;        // 0: all
  bool random_thresholds = false;  // extra trees
  // Each tree sees every row a random number of times, `samples` in the mean.
  bool bootstrap = false;
  double samples = 1;
  std::uint64_t seed = 0;
  BinOptions bins = {};
  // Cuts between any two values instead of between bins: slower, and more memory. Only columns of
  // numbers, without a memory limit and without ranks; else ConfigError (DDL-9-28).
  bool exact_splits = false;
  // The greatest resident set of this process, in bytes; 0: no limit. Bins are then kept in a file
  // of the temporary folder, and of a matrix that is a mapped file only the rows in use are in
  // memory. The same model. Ranks have a limit each. Throws ConfigError (DDL-9-27) when it is too
  // little.
  std::int64_t memory_limit = 0;
  // Called on the caller's thread after each tree that it has grown, with the number of all trees
  // so far; false ends the training, and what is there is returned. Not over ranks.
  std::function<bool(int trees)> progress = {};
};

// Leaves hold the mean of the labels, or the share of each class. The same model for any number of
// threads and, with a communicator (each rank brings its rows), of ranks. Throws ConfigError
// (DDL-9-20) when labels, weights or options are wrong.
Model train_forest(const Matrix& matrix, const Targets& targets, const ForestOptions& options,
                   Threads& threads, comm::Communicator* communicator = nullptr);

// How often tree number `tree` of a bootstrap has this row, counted over all ranks; 0: it is out of
// bag.
int bootstrap_copies(const ForestOptions& options, int tree, std::int64_t row);

}  // namespace tutti::learn::tree
