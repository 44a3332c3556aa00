// Fitting a model by its name, with options of one table (options.h).
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
  // Called with a line of progress; false ends the fit with the model so far.
  std::function<bool(const std::string& line)> on_progress = {};
  // Called more often than that where rows come from a file; true ends the fit as well.
  std::function<bool()> should_stop = {};
};

// Throws ConfigError when labels do not suit the model, and as the fits do.
SavedModel train(const DataSet& data, const TrainSettings& settings);
// The same with a limit of memory: what a linear fit uses, and the greatest resident set of this
// process while trees grow, for which the rows are first copied to the temporary directory.
SavedModel train(const std::shared_ptr<const DataFile>& file, const TrainSettings& settings);

}  // namespace tutti::learn
