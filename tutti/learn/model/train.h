// Training of a model by name, with the options of options.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tutti/core/options.h"
#include "tutti/learn/data/data_file.h"
#include "tutti/learn/model/options.h"
#include "tutti/learn/model/saved_model.h"

namespace tutti::learn {

struct TrainSettings {
  Options options{train_options()};
  // Called with a progress line. Returning false ends the fit with the current model.
  std::function<bool(const std::string& line)> on_progress = {};
  // Called for every chunk of an out-of-core fit. Returning true ends the fit too.
  std::function<bool()> should_stop = {};
  // Called once, after the fit of a linear model, with its solver and the reason for it.
  std::function<void(const std::string& line)> on_solver = {};
};

// Throws ConfigError if the labels do not suit the model, and as the fits do.
SavedModel train(const DataSet& data, const TrainSettings& settings);
// Training with a memory limit: the additional memory of a linear fit, or the maximum resident set of this process for
// trees, for which the rows are first copied to the temporary directory.
SavedModel train(const std::shared_ptr<const DataFile>& file, const TrainSettings& settings);

}  // namespace tutti::learn
