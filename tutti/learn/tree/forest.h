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
  double min_weight_leaf = 0;  // minimum sum of sample weights
  double min_gain = 0;
  int columns_per_node = 0;        // 0: all
  bool random_thresholds = false;  // extra trees
  // Each tree uses every row a Poisson-distributed number of times, with mean `samples`.
  bool bootstrap = false;
  double samples = 1;
  std::uint64_t seed = 0;
  BinOptions bins = {};
  // Exact splits between any two values instead of between bins: slower, with more memory. Only for numeric columns,
  // without memory limit and ranks; otherwise throws ConfigError (DDL-9-28).
  bool exact_splits = false;
  // Maximum resident set of this process in bytes; 0: no limit. With a limit, bins are kept in a file in the temporary
  // directory, and only the rows in use of a mapped matrix are in memory. The model does not change. Each rank has a
  // separate limit. Throws ConfigError (DDL-9-27) if it is too small.
  std::int64_t memory_limit = 0;
  // Called on the calling thread after each tree that it has grown, with the total number of trees so far. Returning
  // false ends training with the trees so far. Not called with ranks.
  std::function<bool(int trees)> progress = {};
};

// Leaves contain the mean label or the fraction of each class. The model is bitwise identical for any number of threads
// and ranks. With a communicator each rank passes its rows. Throws ConfigError (DDL-9-20) for invalid labels, weights
// or options.
Model train_forest(const Matrix& matrix, const Targets& targets, const ForestOptions& options,
                   Threads& threads, comm::Communicator* communicator = nullptr);

// Number of copies of a row in the bootstrap sample of a tree; 0: out of bag. `row` counts over all ranks.
int bootstrap_copies(const ForestOptions& options, int tree, std::int64_t row);

}  // namespace tutti::learn::tree
