// Options of `tutti learn train` and of the estimators in Python, in one table. Defaults are those
// of GlmOptions, ForestOptions and BoostOptions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tutti/core/options.h"

namespace tutti::learn {

struct LearnOption {
  OptionSpec spec;
  std::string_view scope;    // models that it applies to
  std::string_view python;   // keywords of the estimators in tutti.learn; empty: none
  std::string_view snap_ml;  // keyword and default in snap_ml where these differ; empty: none
};

const std::vector<LearnOption>& learn_options();
// The specifications alone.
const OptionTable& train_options();

// docs/reference/learn-options.md
std::string learn_options_markdown();

// Names of models, linear ones first.
const std::vector<std::string>& linear_model_names();
const std::vector<std::string>& tree_model_names();

}  // namespace tutti::learn
