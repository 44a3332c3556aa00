// Fits a model as `tutti learn train` is asked to.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "apps/tutti/learn_model.h"
#include "tutti/learn/data/data_file.h"

namespace tutti::app {

struct TrainSettings {
  std::string model = "logistic";
  double l1 = 0, l2 = 1;
  bool has_intercept = true;
  std::string solver = "auto";
  double tolerance = 1e-6;
  int max_iterations = 1000;
  std::string task;  // trees: classes, numbers; empty: by the labels
  int trees = 100, max_depth = 0, max_leaves = 31;
  bool has_exact_splits = false;
  double learning_rate = 0.1;
  std::uint64_t seed = 0;
  int threads = 0;
  std::int64_t memory_limit = 0;  // own files: 0: none
  // Told how far it is; false ends the fit with what is there.
  std::function<bool(const std::string& line)> on_progress = {};
  // Asked more often than that where rows come from a file; true ends the fit as well.
  std::function<bool()> should_stop = {};
};

// Names of models, as in "logistic, hinge, ...".
std::string model_names();

// Throws ConfigError when the model is not known or labels do not suit it, and as the fits do.
LearnModel train(const learn::DataSet& data, const TrainSettings& settings);
// The same with a limit of memory: what a linear fit takes, and the greatest resident set of this
// process while trees grow, for which the rows are first copied to the temporary folder.
LearnModel train(const std::shared_ptr<const learn::DataFile>& file, const TrainSettings& settings);

}  // namespace tutti::app
